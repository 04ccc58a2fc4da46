"""`python -m azcore`."""

from azcore.cli import main

if __name__ == "__main__":
    main()
