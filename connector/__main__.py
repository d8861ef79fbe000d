"""`python -m connector`: the same as the command `connector`."""

from connector.cli import main

if __name__ == "__main__":
    main()
