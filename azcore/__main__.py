"""`python -m azcore`."""

from azcore import interrupts


def main() -> None:
    interrupts.watch()  # before all that takes seconds to import
    from azcore.cli import main

    main()


if __name__ == "__main__":
    main()
