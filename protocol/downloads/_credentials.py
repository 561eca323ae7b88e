"""Remove credentials from addresses and messages: users may write them into the address of a mirror."""

import re

_HIDDEN = "***"
_SHORTEST = 4  # characters; shorter parts of an address are not searched for in messages


def redacted(url: str) -> str:
    """Return an address without its user name, password, query and fragment, any of which may contain credentials.

    Examples
    --------
    >>> redacted("https://me:secret@example.org/files?token=secret")
    'https://***@example.org/files?***'
    """
    scheme, separator, rest = url.partition("://")
    if not separator:  # a path, or an address with a mistake
        return re.sub(r"^[^/]*:.*@", f"{_HIDDEN}@", url, flags=re.DOTALL)
    user = user_of(rest)
    place = re.sub(r"(?<=[?#]).*", _HIDDEN, rest.removeprefix(user), count=1, flags=re.DOTALL)
    return f"{scheme}://{_HIDDEN}@{place}" if user else f"{scheme}://{place}"


def without_credentials(text: str, url: str) -> str:
    """Return a text, such as an error message of a library, without the credentials of an address."""
    rest = url.partition("://")[2]
    user = user_of(rest).removesuffix("@")
    query = re.split("[?#]", rest.removeprefix(user), maxsplit=1)[1:]
    parts = [user, user.partition(":")[2], *query, *(part for value in query for part in re.split("[&=]", value))]
    text = text.replace(url, redacted(url))
    for part in sorted(filter(lambda part: len(part) >= _SHORTEST, parts), key=len, reverse=True):
        text = text.replace(part, _HIDDEN)
    return text


def user_of(rest: str) -> str:
    """Return the user name and password before a host, up to their ``@``.

    A password with an unescaped ``/`` or ``?`` makes the address invalid. Such a password is recognised by the port,
    which is then not a number.
    """
    found = re.match(r"[^/?#]*@", rest) or re.match(r"[^/?#:]*:(?!\d*[/?#]).*@", rest, re.DOTALL)
    return found[0] if found else ""
