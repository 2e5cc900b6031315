"""The colours of the frames around pictures: right, and wrong; told apart by those who see no green or red."""

RIGHT, WRONG = "#029e73", "#c8281e"
