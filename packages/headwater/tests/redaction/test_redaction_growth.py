"""The time to mask hostile texts of each rule grows with their length, not with its square."""

from __future__ import annotations

import gc
import time

import pytest

from headwater.redaction import DEFAULT

pytestmark = pytest.mark.replay

_SHORT, _LONG = 4_000, 32_000
_PARTS = (
    # URLs and tokens
    *("://a:", "://x:y@", "https://a@", "@", "a@b:1", "sk-a", "eyJaaaaaaaaaa.", "-----BEGIN "),
    *("AKIA", "dapi", ".atlasv1.", "aaa1Q~", "hooks.slack.com/", "-----BEGIN PRIVATE KEY-----"),
    # Words and what follows them
    *("token=", "token=x ", "password ", "pass ", "password='", "secret=secret.", "password=''"),
    *('"password":"', '"password": {', '"password": [', "password\\\\\\\\", '{\\"password\\":'),
    *("<password ", "<password><", "<name>password</name>", 'password" value="', "password ->"),
    *(
        "token=a[",
        "token=a(",
        "authorization: ",
        "cookie: ",
        "passphrase: ",
        "fs.azure.account.key.",
    ),
    *(
        "--secret-secret-token ",
        "'--password', ",
        'option("password",',
        "option(",
        "login x password ",
    ),
    # Commands, functions and headers
    *(
        "curl ",
        "curl -u ",
        "mysql ",
        "mysql -p ",
        "sqlplus -s ",
        "bcp ",
        "redis-cli -a ",
        "docker login ",
    ),
    *("configure set key", "pwd%3d", "?code=", "&sig=", "basic ", "Bearer aaaaaaaaaaaaaaaaa1 "),
    *("auth=('", "s3('", "mysql('a',", "pgp_sym_decrypt(", "openrowset('", "identified by '"),
    *(
        "user x identified ",
        "jdbc:oracle:a:b",
        "sas-token.a",
        "basic.auth.user.info=",
        "sshpass -p",
    ),
    # Calls, pairs and elements
    *('password("x",', 'new Credentials(a,"', "name=password ", '<a name="password"', "az login -"),
    *('getConnection(a,b,"', 'sqlplus u/"', '["password","x', 'f("password",  "a",  '),
    # Source code and JSON
    *('password = "x"\n', "(", "[password", '{"password":', "\\", '\\"', "'", "''", "password('"),
)


def _seconds(text: str) -> float:
    """Return the CPU time of this thread to mask a text."""
    gc.disable()  # its time depends on the objects of other tests
    try:
        start = time.thread_time()
        DEFAULT.redact_text(text)
        return time.thread_time() - start
    finally:
        gc.enable()


@pytest.mark.parametrize("part", _PARTS)
def test_time_to_mask_a_hostile_text_grows_linearly(part: str) -> None:
    short, long = (part * (size // len(part)) + " -u -p" for size in (_SHORT, _LONG))
    DEFAULT.redact_text(short)  # compiles the patterns
    # Eight times the length takes 8 times as long, or 64 times if the growth is quadratic.
    most = 0.1 + 24 * min(_seconds(short) for _ in range(3))
    assert any(_seconds(long) < most for _ in range(3))  # a busy machine may slow an attempt
