package main

import (
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"example.org/flock/fleet/lease"
	"example.org/flock/internal/sys"
)

// A config is what the environment says about PostgreSQL.
type config struct {
	connection *pgconn.Config
	reach      time.Duration // how long to try to reach the server at the beginning; 0: as lease says
	remark     string        // for the user; empty: none
}

const urlVariable = "FLOCK_POSTGRES_URL"

// unsupported are the variables of libpq that ask for something which this program cannot do. To ignore them could mean
// to connect to another server, or to one that the user does not trust.
var unsupported = []string{"PGHOSTADDR", "PGREQUIREPEER", "PGSSLCRL", "PGSSLCRLDIR", "PGSSLMINPROTOCOLVERSION",
	"PGLOADBALANCEHOSTS"}

// defaultHosts are what the library takes where no host is named.
var defaultHosts = []string{"/var/run/postgresql", "/private/tmp", "/tmp"}

// readConfig reads the variables of libpq, and our own. A secret does not appear in an error.
func readConfig(environ []string) (c config, err error) {
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		isUnknown := strings.HasPrefix(name, "FLOCK_POSTGRES_") && name != urlVariable
		if value != "" && (isUnknown || slices.Contains(unsupported, name)) {
			return c, refuse(sys.Printable(name), "this variable is not supported\nsee flock-postgres(1), ENVIRONMENT")
		}
	}
	address := os.Getenv(urlVariable)
	if address != "" && !strings.HasPrefix(address, "postgres://") && !strings.HasPrefix(address, "postgresql://") {
		return c, refuse(urlVariable, "it must begin with postgres://, as in postgres://cron@db1.example/fleet")
	}
	ignored, err := ignoredPasswordFile()
	if err != nil {
		return c, err
	}
	if ignored != "" {
		defer setenv("PGPASSFILE", os.DevNull)()
	}
	if c.connection, err = parse(address); err != nil {
		return c, err
	}
	if ignored != "" && c.connection.Password == "" {
		c.remark = "the password file " + sys.Printable(ignored) + " is ignored: other users can access it\nchmod 600 it"
	}
	if err := checkExplicit(c.connection, address); err != nil {
		return c, err
	}
	name := c.connection.RuntimeParams["application_name"]
	if name == "" {
		name = "flock-postgres"
	}
	// A pool of connections refuses others, and each change says itself what it needs.
	c.connection.RuntimeParams = map[string]string{"application_name": name}
	c.reach = c.connection.ConnectTimeout
	if len(c.addresses()) > 1 && c.connection.ValidateConnect == nil {
		c.connection.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
	}
	return c, nil
}

// refuse does not repeat the value, which may be a secret.
func refuse(name, why string) error { return lease.Misused("invalid " + name + ": " + why) }

// noHost is no name of a host; see RFC 6761.
const noHost = "host.invalid"

// setenv sets a variable, and returns what undoes that.
func setenv(name, value string) (undo func()) {
	before, isSet := os.LookupEnv(name)
	os.Setenv(name, value)
	return func() {
		if os.Unsetenv(name); isSet {
			os.Setenv(name, before)
		}
	}
}

// parse has the library read the variables. It would take a default for the host, which this tells from a host that is
// named.
func parse(address string) (*pgconn.Config, error) {
	if os.Getenv("PGHOST") == "" {
		defer setenv("PGHOST", noHost)()
	}
	c, err := pgconn.ParseConfig(address)
	if err != nil {
		_, why, _ := strings.Cut(err.Error(), "`: ") // after the URL
		if address == "" {
			return nil, refuse("PG* variables or service", sys.Printable(why))
		}
		return nil, refuse(urlVariable, "not a connection URI\nsee the manual of PostgreSQL, and flock-postgres(1), ENVIRONMENT")
	}
	return c, nil
}

// checkExplicit refuses what leaves the host or the database to a default. That differs from user to user and from
// machine to machine, so two of them would have the lock in two places.
func checkExplicit(c *pgconn.Config, address string) error {
	hosts := []string{c.Host}
	for _, f := range c.Fallbacks {
		hosts = append(hosts, f.Host)
	}
	named, _ := url.PathUnescape(address)
	for _, host := range hosts {
		isNamed := slices.Contains(strings.Split(os.Getenv("PGHOST"), ","), host) || strings.Contains(named, host)
		isDefault := slices.Contains(defaultHosts, host) && !isNamed && os.Getenv("PGSERVICE") == ""
		if host == noHost || isDefault {
			return lease.Misused("the host of PostgreSQL is not named\nset PGHOST and PGDATABASE, PGSERVICE, or " +
				urlVariable)
		}
	}
	if c.Database == "" {
		return lease.Misused("the database is not named\nset PGDATABASE, PGSERVICE, or " + urlVariable)
	}
	return nil
}

// ignoredPasswordFile returns the password file if others may use it: psql(1) ignores it, too. A group may read one of
// root, as systemd and Kubernetes have it.
func ignoredPasswordFile() (file string, err error) {
	file = os.Getenv("PGPASSFILE")
	if home, err := os.UserHomeDir(); file == "" && err == nil {
		file = filepath.Join(home, ".pgpass")
	}
	info, err := os.Stat(file)
	switch {
	case os.Getenv("PGPASSWORD") != "" || errors.Is(err, os.ErrNotExist) && os.Getenv("PGPASSFILE") == "":
		return "", nil
	case err != nil:
		return "", refuse("PGPASSFILE", err.Error())
	case !info.Mode().IsRegular():
		return "", nil // such as /dev/null
	}
	others := os.FileMode(0o077)
	if info.Sys().(*syscall.Stat_t).Uid == 0 {
		others = 0o037
	}
	if info.Mode()&others == 0 {
		return "", nil
	}
	return file, nil
}

// addresses returns where the server may be.
func (c *config) addresses() []string {
	list := []string{at(c.connection.Host, c.connection.Port)}
	for _, f := range c.connection.Fallbacks {
		if text := at(f.Host, f.Port); !slices.Contains(list, text) { // one host is there twice, with TLS and without
			list = append(list, text)
		}
	}
	return list
}

func at(host string, port uint16) string { return net.JoinHostPort(host, strconv.Itoa(int(port))) }
