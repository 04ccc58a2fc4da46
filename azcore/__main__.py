"""The entry point of `python -m azcore`."""

import time

from azcore import interrupts


def main() -> None:
    began = time.monotonic()
    interrupts.watch()  # before the imports that take seconds
    from azcore.cli import main

    try:
        main(began)
    finally:
        interrupts.end()


if __name__ == "__main__":
    main()
