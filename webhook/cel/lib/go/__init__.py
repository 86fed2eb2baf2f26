"""Go's parsing and formatting of addresses, URLs and strings, which library functions use."""
