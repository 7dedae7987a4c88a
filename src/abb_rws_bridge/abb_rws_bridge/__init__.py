"""ABB controllers over Robot Web Services."""
