# flock-etcd and flock-postgres: the root's Makefile includes this.

# flock-etcd and flock-postgres are modules of their own. They are for Unix.
ETCDBUILD = cd fleet/etcd && CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$(VERSION)"
POSTGRESBUILD = cd fleet/postgres && CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$(VERSION)"
UNIX_SYSTEMS = $(filter-out windows/%,$(SYSTEMS))

ETCD_SOURCES = $(call sources,fleet/etcd/*.go fleet/etcd/help.txt fleet/lease/*.go internal/*/*) fleet/etcd/go.mod fleet/etcd/go.sum

flock-etcd: $(ETCD_SOURCES) build/version | fleet/etcd/man/flock-etcd.1  ## build the lock for many machines
	$(ETCDBUILD) -o ../../$@ .

POSTGRES_SOURCES = $(call sources,fleet/postgres/*.go fleet/postgres/help.txt fleet/postgres/schema.sql fleet/lease/*.go internal/*/*) \
	fleet/postgres/go.mod fleet/postgres/go.sum

flock-postgres: $(POSTGRES_SOURCES) build/version | fleet/postgres/man/flock-postgres.1  ## the same in PostgreSQL
	$(POSTGRESBUILD) -o ../../$@ .

demo-etcd: flock-etcd         ## build, and start three members of etcd to try it with, until Ctrl-C
	@sh fleet/etcd/members.sh

demo-postgres: flock-postgres ## build, and start a PostgreSQL server to try it with, until Ctrl-C
	@sh fleet/postgres/server.sh

# The servers and etcdctl are built from their modules. Nothing but loopback is used.
test-etcd: flock flock-etcd         ## run the tests of flock-etcd over etcd servers (two minutes)
	@test -z "$$(gofmt -l fleet/etcd)" || { gofmt -d fleet/etcd; exit 1; }
	cd fleet/etcd && go mod tidy -diff && go vet ./... && go test -timeout $(TIMEOUT) -count=1 ./...
	cd fleet/etcd/test && go mod tidy -diff && go vet ./... && go test -timeout $(TIMEOUT) -count=1 -parallel 4 ./...
	sh completions/test.sh ./flock-etcd

# The servers are those of Debian's package postgresql, or what is in PATH. Each has a directory of its own.
test-postgres: flock flock-postgres ## run the tests of flock-postgres over PostgreSQL servers (two minutes)
	@test -z "$$(gofmt -l fleet/postgres)" || { gofmt -d fleet/postgres; exit 1; }
	cd fleet/postgres && go mod tidy -diff && go vet ./... && go test -timeout $(TIMEOUT) -count=1 -parallel 8 ./...
	sh completions/test.sh ./flock-postgres

torture-etcd: flock-etcd      ## kill flock-etcd, its command and etcd's members at random (FLOCK_TORTURE=5m; FLOCK_BESIDE=folder of another build's programs)
	cd fleet/etcd/test && FLOCK_TORTURE=$${FLOCK_TORTURE:-5m} go test -count=1 -v -timeout 60m -run 'TestTorture$$' .

torture-postgres: flock-postgres ## kill flock-postgres, its command and its server at random (likewise)
	cd fleet/postgres && FLOCK_TORTURE=$${FLOCK_TORTURE:-5m} go test -count=1 -v -timeout 60m -run 'TestTorture$$|TestNewcomers' ./test

bench-etcd: flock-etcd        ## measure beside etcdctl lock
	cd fleet/etcd/test && go run ./bench $(BENCHFLAGS) ../../../flock-etcd

bench-postgres: flock-postgres ## measure beside psql with an advisory lock
	cd fleet/postgres && go run ./test/bench $(BENCHFLAGS) ../../flock-postgres

.PHONY: demo-etcd demo-postgres test-etcd test-postgres torture-etcd torture-postgres bench-etcd bench-postgres
