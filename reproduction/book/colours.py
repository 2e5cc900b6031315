"""The colours of frames around right and wrong pictures. Readers who cannot tell green from red can tell them apart."""

RIGHT, WRONG = "#029e73", "#c8281e"
