"""File formats: what others' files hold, read without believing them; nothing in them is ever run or unpickled."""
