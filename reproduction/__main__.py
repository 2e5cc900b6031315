"""``python -m reproduction`` is the command ``pcgraph``. Unlike the library, it needs the packages of the book."""


def main() -> None:
    """Run the command, or say which package is missing."""
    try:
        from .cli import main as run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("pcgraph_lite", "reproduction"):
            raise
        raise SystemExit(f"pcgraph needs {error.name}, which the library alone does not: "
                         "pip install -e '.[book]' in a checkout, or make test there.") from None
    run()


if __name__ == "__main__":
    main()
