"""The entry point of `python -m azcore`."""

from azcore import interrupts


def main() -> None:
    interrupts.watch()  # before the imports that take seconds
    from azcore.cli import main

    try:
        main()
    finally:
        interrupts.end()


if __name__ == "__main__":
    main()
