package storeurl

import (
	"strings"
	"testing"
	"time"
)

func TestAddressHidesPasswords(t *testing.T) {
	for name, want := range map[string]string{
		"postgres://u:pw@h:5432/db":                                  "postgres://u@h:5432/db",
		"postgres://h/db?user=u&password=pw&sslmode=require":         "postgres://h/db?sslmode=require&user=u",
		"postgres://u@h/db?replica=postgres%3A%2F%2Fu%3Apw%40r%2Fdb": "postgres://u@h/db",
		"postgres://u@h/db?sslpassword=pw&pool=4":                    "postgres://u@h/db",
		"postgresql://u:pw@/db?host=/run/postgresql":                 "postgresql://u@/db?host=%2Frun%2Fpostgresql",
		"postgres://u:p%w@h/db":                                      "postgres://",
		"dir/../store.db":                                            "store.db",
		"postgres://u:pw@h/db#pw":                                    "postgres://u@h/db",
	} {
		if have := Address(name); have != want || strings.Contains(have, "pw") {
			t.Errorf("%s: have %s, want %s", name, have, want)
		}
	}
}

// A slip in the URL makes no file whose name has the password.
func TestSlipsAreNoFiles(t *testing.T) {
	for _, name := range []string{"Postgres://u:pw@h/db", "postgres:/u:pw@h/db", "mysql://u:pw@h/db", "host=h dbname=db password=pw", "./postgres://u:pw@h"} {
		if err := Check(name); err == nil || strings.Contains(err.Error(), "pw") || strings.Contains(Address(name), "pw") {
			t.Errorf("%s: %v, for messages %s", name, err, Address(name))
		}
	}
	for _, name := range []string{"", "/var/lib/store.db", "C:\\data\\store.db", "postgres.db", "postgres://u:pw@h/db", "a:b.db"} {
		if err := Check(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSettingsTravelInTheURL(t *testing.T) {
	s := Settings{Pool: 7, Timeout: 3 * time.Second, Replica: "postgres://u:p@r/db?sslmode=disable"}
	name, have, err := Split(With("postgres://u:p@h/db?sslmode=disable", s))
	if err != nil || have != s || name != "postgres://u:p@h/db?sslmode=disable" {
		t.Errorf("have %s, %+v, %v", name, have, err)
	}
	if have := With("/var/lib/store.db", s); have != "/var/lib/store.db" {
		t.Errorf("a path became %s", have)
	}
	if _, have, _ := Split(With("postgres://h/db?pool=2", s)); have.Pool != 2 {
		t.Errorf("the URL does not come first: %+v", have)
	}
	for _, bad := range []string{"postgres://h/db?pool=x", "postgres://h/db?timeout=x", "postgres://u:secret%@h/db"} {
		if _, _, err := Split(bad); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
