"""Secrets in command lines and in calls of SQL functions are masked by their position."""

from __future__ import annotations

import orjson
import pytest

from headwater.redaction import DEFAULT, MASK
from packages.headwater.tests.support import secret_forms as forms

_COMMANDS = (
    "curl -sSL --user 'app:§' https://h",
    "curl -uapp:§ https://h",
    "curl \\\n  -X POST \\\n  -u app:§ https://h",
    "curl --proxy-user app:§ https://h",
    "cd /x && curl -u app:§ https://h | jq .",
    "/usr/bin/mysql -u root -p§ db",
    "mysqldump -h h -uroot -p'§' db > f",
    "mariadb -u root -p§",
    "mysqladmin -u root -p§ ping",
    "sqlcmd -S h -U sa -P§ -Q 'select 1'",
    'sqlcmd -S h -U sa -P "§"',
    "isql -U sa -P § -S h",
    "redis-cli -h h -a '§' ping",
    "docker login registry.example.org -u a -p '§'",
    "helm registry login h -u a -p §",
    "sqlplus scott/§@//db:1521/orcl @run.sql",
    "sqlldr scott/§@db control=x.ctl",
    "expdp scott/§@db tables=t",
    "sshpass -p'§' ssh h",
    "mongosh h/db -u a -p §",
    "mongodump -u a -p § --db x",
    "beeline -u jdbc:hive2://h -n a -p §",
    "cqlsh -u a -p § h",
    "vsql -U a -w § -c 'select 1'",
    "ldapsearch -D cn=a -w § -b dc=x",
    "smbclient //h/s -U a%§",
    "curl -u'app:§' https://h",
    "htpasswd -b f a §",
    "rabbitmqctl add_user a §",
    "openssl enc -aes-256-cbc -pass pass:§ -in f",
    "keytool -list -storepass § -keystore k",
    "['mysql', '-u', 'root', '-p§', 'db']",
    '["curl", "-u", "app:§", "https://h"]',
    '{"command": "bash -c \\"mysql -u root -p§ db\\""}',
    "bash -c \"curl -u 'app:§' https://h\"",
    "docker run --rm mysql mysql -h h -p§",
    "ssh-keygen -t ed25519 -N § -f key",
    "gh secret set NAME --body §",
    "usermod -p § app",
    "mosquitto_pub -h h -u a -P § -t x",
)
_CALLS = (
    "SELECT pgp_sym_encrypt('x', '§', 'cipher-algo=aes256')",
    "select aes_decrypt(unhex(column), '§') from t",
    "SELECT EncryptByPassPhrase('§', name) FROM t",
    "SELECT * FROM remote('h:9000', 'db', 't', 'u', '§')",
    "SELECT * FROM postgresql('h:5432', 'db', 't', 'u', '§', 'public')",
    "SELECT * FROM s3Cluster('c', 'https://b/x', 'KEYKEYKEY0000000', '§', 'CSV')",
    "SET PASSWORD FOR 'u'@'h' = PASSWORD('§')",
    "SELECT * FROM mysql(concat('h', ':1'), 'd', 't', 'u', '§')",
    "SELECT * FROM mysql('h', 'd', 't', 'u', 'a''§')",
    "SELECT pgp_sym_decrypt(pgp_sym_decrypt(a, '§'), '§')",
    "SELECT * FROM mysql('h', 'd', 't', 'u', '§",
)
_HARMLESS = (
    "mysql -u root -p db",
    "mysql -h h --port=1 -P 3306 --protocol tcp",
    "curl -u $USER:$PASS https://h",
    "curl -u app:${PASS} -X POST https://h",
    "docker run -p 8080:80 mysql",
    "docker login registry.example.org && docker push -p x",
    "sqlplus /nolog @run.sql",
    "sqlplus / as sysdba",
    "sqlcmd -S h -E -Q 'select 1'",
    "the curl of a field, and its redis-cli",
    "mysql://h:3306/db -port",
    "select decrypt_count(x, 'a'), s3('https://b/x.csv', 'CSV')",
    "select password(column) from t",
    "my-curl -u app:x",
    "gh pr create --title x --body text",
    "useradd --create-home app",
)


@pytest.mark.parametrize("form", [*_COMMANDS, *_CALLS])
def test_secret_of_a_command_or_call_is_masked(form: str) -> None:
    text = form.replace("§", forms.SECRET)
    masked = DEFAULT.redact_text(text)
    assert forms.SECRET not in masked
    assert MASK in masked
    assert DEFAULT.redact_text(masked) == masked
    assert DEFAULT.is_suspicious(orjson.dumps(text))
    assert forms.SECRET not in DEFAULT.redact_line(orjson.dumps(text).decode())


@pytest.mark.parametrize("text", _HARMLESS)
def test_harmless_command_or_call_is_unchanged(text: str) -> None:
    assert DEFAULT.redact_text(text) == text
