"""The recovery directory, looked at from outside: what it holds, and whether it is whole."""
