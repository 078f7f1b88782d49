# The main tasks of development. `make help` lists them.

PREFIX  = /usr/local
BINDIR  = $(PREFIX)/bin
DATADIR = $(PREFIX)/share
MAN1DIR = $(DATADIR)/man/man1
MAN7DIR = $(DATADIR)/man/man7
BASHDIR = $(DATADIR)/bash-completion/completions
ZSHDIR  = $(DATADIR)/zsh/site-functions
FISHDIR = $(DATADIR)/fish/vendor_completions.d

VERSION := $(shell packaging/version.sh)
# The tag needs -checklinkname=0: internal/cstart explains both. -E names the entry
# point of the run without the Go runtime: see internal/early. PLAIN=1 uses none of them.
ENTRY = $$(case $$(go env GOOS)/$$(go env GOARCH) in \
	(linux/amd64|linux/arm64) echo -E flock_entry;; esac)
GOBUILD = CGO_ENABLED=0 go build -trimpath -buildvcs=false $(if $(PLAIN),,-tags flock_linkname) \
	-ldflags "-s -w $(if $(PLAIN),,-checklinkname=0 $(ENTRY)) -X main.version=$(VERSION)"
# It checks a program that a new release of Go has built: see doc/go.md. FORCE=1 takes the program as it is.
CHECK = $(if $(PLAIN)$(FORCE),:,sh internal/early/known.sh)

SYSTEMS = \
	linux/amd64 linux/arm64 linux/arm linux/386 linux/riscv64 linux/ppc64le \
	linux/s390x linux/loong64 linux/mips64le android/arm64 \
	darwin/amd64 darwin/arm64 freebsd/amd64 freebsd/arm64 openbsd/amd64 \
	openbsd/arm64 netbsd/amd64 netbsd/arm64 dragonfly/amd64 illumos/amd64 \
	windows/amd64 windows/arm64

# flock-etcd and flock-postgres are modules of their own. They are for Unix.
ETCDBUILD = cd fleet/etcd && CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$(VERSION)"
POSTGRESBUILD = cd fleet/postgres && CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$(VERSION)"
UNIX_SYSTEMS = $(filter-out windows/%,$(SYSTEMS))

all: flock                    ## build the one static binary, ./flock

sources = $(filter-out %_test.go,$(wildcard $(1)))

flock: $(call sources,*.go fallback/*.go fallback/*/*.go internal/*/*) go.mod go.sum build/version
	$(GOBUILD) -o $@ .
	@$(CHECK) ./$@

ETCD_SOURCES = $(call sources,fleet/etcd/*.go fleet/etcd/help.txt fleet/lease/*.go internal/*/*) fleet/etcd/go.mod fleet/etcd/go.sum

flock-etcd: $(ETCD_SOURCES) build/version | fleet/etcd/man/flock-etcd.1  ## build the lock for many machines
	$(ETCDBUILD) -o ../../$@ .

POSTGRES_SOURCES = $(call sources,fleet/postgres/*.go fleet/postgres/help.txt fleet/postgres/schema.sql fleet/lease/*.go internal/*/*) \
	fleet/postgres/go.mod fleet/postgres/go.sum

flock-postgres: $(POSTGRES_SOURCES) build/version | fleet/postgres/man/flock-postgres.1  ## the same in PostgreSQL
	$(POSTGRESBUILD) -o ../../$@ .

# Both manuals are one text, with differences.
PAGES = fleet/etcd/man/flock-etcd.1 fleet/postgres/man/flock-postgres.1

$(PAGES): fleet/man/page.sh fleet/man/flock-backend.1.in
	@mkdir -p $(@D)
	sh fleet/man/page.sh $(@:fleet/%/man/$(@F)=%) >$@

# The version is in the programs, and a commit changes it: this file changes with it and with PLAIN, and not otherwise.
build/version: always
	@mkdir -p build
	@echo '$(VERSION) $(PLAIN)' | cmp -s - $@ || echo '$(VERSION) $(PLAIN)' >$@

# A program that does not pass its check is not left as one that is built.
.DELETE_ON_ERROR:

demo: flock                   ## build, and show the main uses
	sh compat_test/demo.sh ./flock

demo-etcd: flock-etcd         ## build, and start three members of etcd to try it with, until Ctrl-C
	@sh fleet/etcd/members.sh

demo-postgres: flock-postgres ## build, and start a PostgreSQL server to try it with, until Ctrl-C
	@sh fleet/postgres/server.sh

# How long the tests of one package may take, on a busy machine, too.
TIMEOUT = 30m

PACKAGES = $$(go list ./... | grep -v /compat_test)

quick:                        ## gofmt, vet and the tests of the packages (seconds)
	@test -z "$$(gofmt -l .)" || { gofmt -d .; exit 1; }
	go vet ./...
	go test -short -timeout $(TIMEOUT) -count=1 $(PACKAGES)

check: flock                  ## what to run after each change: every case in one mode (a minute)
	@test -z "$$(gofmt -l .)" || { gofmt -d .; exit 1; }
	go vet ./...
	sh compat_test/run.sh go test -timeout $(TIMEOUT) -short -count=1 ./...

test: flock $(PAGES)          ## run the tests: every case in every mode where its answer can differ, and under the installed flock (three minutes)
	@sh compat_test/run.sh $(MAKE) --no-print-directory -j2 test-go test-beside

test-go:
	go test -timeout $(TIMEOUT) -count=1 ./...

# An ordinary user runs what depends on who runs it.
test-user: flock              ## run the tests whose answer depends on the user, as an ordinary user
	FLOCK_TEST_USER=1 sh compat_test/run.sh go test -timeout $(TIMEOUT) -count=1 \
		-skip 'TestEveryInterleaving|TestStaleLock' ./fallback/... ./compat_test

# The packages with goroutines.
GOROUTINES = ./fallback/... ./internal/guard ./internal/termination ./internal/output ./internal/locks \
	./internal/holders ./fleet/lease/...

# A release asks for it: every case in every mode, the longest interleavings, all mutants.
long: flock                   ## run everything, as root also as an ordinary user (hours; FLOCK_TORTURE=5m for each torture)
	FLOCK_TEST_LONG=1 sh compat_test/run.sh $(MAKE) --no-print-directory TIMEOUT=3h test-go race RACED='$(GOROUTINES)'
	FLOCK_TEST_LONG=1 sh compat_test/as-user.sh make TIMEOUT=3h flock test-go
	$(MAKE) --no-print-directory TIMEOUT=3h mutants test-kernels test-portable test-builds torture

# What runs beside the tests, which mostly wait.
test-beside:
	@test -z "$$(gofmt -l .)" || { gofmt -d .; exit 1; }
	go mod tidy -diff
	go vet ./...
	go vet -tags flock_linkname ./...
	$(MAKE) --no-print-directory race
	PATH="$$PWD/compat_test/elsewhere/old:$$PATH" sh completions/test.sh ./flock
	sh packaging/test.sh ./flock
	@if command -v mandoc >/dev/null; then for page in man/*.[17] $(PAGES) packaging/debian/*.8; do \
		mandoc -T lint -W warning $$page || exit 1; done; \
		else echo 'mandoc is missing: manual pages not checked'; fi

# The servers and etcdctl are built from their modules. Nothing but loopback is used.
test-etcd: flock flock-etcd         ## run the tests of flock-etcd over etcd servers (two minutes)
	@test -z "$$(gofmt -l fleet/etcd)" || { gofmt -d fleet/etcd; exit 1; }
	cd fleet/etcd && go mod tidy -diff && go vet ./... && go test -timeout $(TIMEOUT) -count=1 ./...
	cd fleet/etcd/test && go mod tidy -diff && go vet ./... && go test -timeout $(TIMEOUT) -count=1 -parallel 6 ./...
	sh completions/test.sh ./flock-etcd
	sh packaging/test.sh ./flock ./flock-etcd

# The servers are those of Debian's package postgresql, or what is in PATH. Each has a directory of its own.
test-postgres: flock flock-postgres ## run the tests of flock-postgres over PostgreSQL servers (two minutes)
	@test -z "$$(gofmt -l fleet/postgres)" || { gofmt -d fleet/postgres; exit 1; }
	cd fleet/postgres && go mod tidy -diff && go vet ./... && go test -timeout $(TIMEOUT) -count=1 -parallel 8 ./...
	sh completions/test.sh ./flock-postgres
	sh packaging/test.sh ./flock ./flock-postgres

# A package of the standard library tells whether there is a race detector. make long names all packages with goroutines.
RACED = ./fallback/...

race:                         ## run the directory lock's tests with the race detector
	@if out=$$(CGO_ENABLED=1 go test -race -run '^$$' errors 2>&1); then \
		CGO_ENABLED=1 go test -race -short -timeout $(TIMEOUT) -count=1 -skip TestEveryInterleaving $(RACED); \
		else echo "race: not run: there is no race detector or no C compiler here: $$out"; fi

# go test prints the table of tests that pass only for the directory in which it is.
compat: flock                 ## compare with util-linux flock, script by script
	@cd compat_test && FLOCK_TEST_LONG=1 sh run.sh go test -count=1 -timeout $(TIMEOUT) -names \
		-run 'TestTranscripts|TestEarly$$|TestNative|TestDirectory|TestAbsent'

record: flock                 ## record the installed util-linux's answers to new and changed cases (RECORD=all: to all)
	go test ./compat_test -count=1 -timeout $(TIMEOUT) -record $(or $(RECORD),new)

# FLOCK_MUTANTS=every changes places of the source: PLACES='directories and files', at random SAMPLE=number of them with SEED=number.
mutants:                      ## show that the cases see faults in the source (FLOCK_MUTANTS=name for some)
	FLOCK_MUTANTS=$${FLOCK_MUTANTS:-*} FLOCK_PLACES='$(PLACES)' FLOCK_SAMPLE=$(SAMPLE) FLOCK_SEED=$(SEED) \
		nice go test ./compat_test -count=1 -v -timeout 24h -run '(Mutants|EveryMutant)$$'

torture: flock                ## kill holders at random for long (an hour; with FLOCK_TORTURE=5m five)
	FLOCK_TORTURE=$${FLOCK_TORTURE:-1m} go test ./compat_test -count=1 -v -timeout 24h \
		-run 'TestTorture|TestKilledAtEverySystemCall|TestRandomScripts'
	FLOCK_TORTURE=$${FLOCK_TORTURE:-1m} go test ./fallback -count=1 -v -timeout 24h

torture-etcd: flock-etcd      ## kill flock-etcd, its command and etcd's members at random (FLOCK_TORTURE=5m; FLOCK_BESIDE=folder of another build's programs)
	cd fleet/etcd/test && FLOCK_TORTURE=$${FLOCK_TORTURE:-5m} go test -count=1 -v -timeout 60m -run 'TestTorture$$' .

torture-postgres: flock-postgres ## kill flock-postgres, its command and its server at random (likewise)
	cd fleet/postgres && FLOCK_TORTURE=$${FLOCK_TORTURE:-5m} go test -count=1 -v -timeout 60m -run 'TestTorture$$|TestNewcomers' ./test

bench: flock                  ## measure beside util-linux flock and other lockers
	go run ./compat_test/bench -svg compat_test/bench/bench.svg $(BENCHFLAGS) ./flock

bench-etcd: flock-etcd        ## measure beside etcdctl lock
	cd fleet/etcd/test && go run ./bench $(BENCHFLAGS) ../../../flock-etcd

bench-postgres: flock-postgres ## measure beside psql with an advisory lock
	cd fleet/postgres && go run ./test/bench $(BENCHFLAGS) ../../flock-postgres

binaries:                     ## build for every system, or those in SYSTEMS='OS/ARCH ...', into build/OS_ARCH
	@for system in $(SYSTEMS); do \
		export GOOS=$${system%/*} GOARCH=$${system#*/}; \
		dir=build/$${GOOS}_$$GOARCH exe=; [ $$GOOS != windows ] || exe=.exe; echo $$dir; \
		$(GOBUILD) -o $$dir/flock$$exe . && $(CHECK) $$dir/flock$$exe || exit 1; \
		case " $(UNIX_SYSTEMS) " in *" $$system "*) ($(ETCDBUILD) -o ../../$$dir/flock-etcd .) && \
			($(POSTGRESBUILD) -o ../../$$dir/flock-postgres .) || exit 1;; esac; \
	done

cross: binaries               ## the same, and vet for each of them
	@for system in $(SYSTEMS); do \
		export GOOS=$${system%/*} GOARCH=$${system#*/}; echo go vet for $$system; \
		go vet ./... && go vet -tags flock_linkname ./... || exit 1; \
		case " $(UNIX_SYSTEMS) " in *" $$system "*) (cd fleet/etcd && go vet ./...) && (cd fleet/postgres && go vet ./...) || exit 1;; esac; \
	done

test-portable: flock          ## run the cases where there is no /proc, as on other systems (a minute)
	go test -c -o build/compat.test ./compat_test
	sh compat_test/run.sh sh compat_test/portable.sh

test-kernels: flock           ## run the cases with the answers of other kernels (two minutes; CASES=core: a little less)
	@cd compat_test && FLOCK_TEST_KERNELS=$(or $(CASES),all) sh run.sh go test -count=1 -timeout $(TIMEOUT) -names \
		-run 'TestPersonalities|TestImitationsAreVetted'

# Whenever the Go runtime ends a program that is built with -cover, it prints a warning.
test-builds:                  ## run the core cases in a PIE, without optimization, and with -cover (two minutes)
	@for flag in -buildmode=pie '-gcflags=all=-N -l' -cover; do \
		echo "== $$flag"; tests='TestEarly|TestNative'; [ "$$flag" != -cover ] || tests=TestEarly; \
		$(GOBUILD) "$$flag" -o build/flock-built . && sh internal/early/check.sh build/flock-built "with $$flag" && \
		(cd compat_test && FLOCK_UNDER_TEST=../build/flock-built sh run.sh go test -timeout $(TIMEOUT) -count=1 \
			-run "^($$tests)\$$/^(early|exec|fd|process|signals)\$$") || exit 1; done

test-qemu:                    ## run a core of the tests on the other Linux architectures, under qemu-user
	sh compat_test/qemu/run.sh

test-gvisor: flock            ## run the cases in gVisor, with kernel locks and with the directory lock (ten minutes)
	sh compat_test/gvisor/run.sh

test-wine:                    ## test the Windows program under Wine
	sh compat_test/wine/run.sh

test-machines: flock          ## boot a server and two clients, and test locks on NFS and SMB (root; half an hour)
	compat_test/machines/run.sh

# They install what is built: root needs no Go for it.
install:                      ## install the built binary, manual pages and completions (DESTDIR, PREFIX)
install-etcd:                 ## install flock-etcd in the same way
install-postgres:             ## and flock-postgres
install install-etcd install-postgres: PROGRAM = $(@:install%=flock%)
install install-etcd install-postgres:
	@test -x $(PROGRAM) || { echo "$(PROGRAM) is not built yet: run 'make $(PROGRAM)' first, as an ordinary user" >&2; exit 1; }
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(MAN1DIR) $(DESTDIR)$(MAN7DIR) $(DESTDIR)$(BASHDIR) $(DESTDIR)$(ZSHDIR) $(DESTDIR)$(FISHDIR)
	install -m 755 $(PROGRAM) $(DESTDIR)$(BINDIR)/$(PROGRAM)
	install -m 644 $(wildcard man/$(PROGRAM).1 fleet/*/man/$(PROGRAM).1) $(DESTDIR)$(MAN1DIR)/$(PROGRAM).1
	$(if $(filter flock,$(PROGRAM)),install -m 644 man/flock-directory.7 $(DESTDIR)$(MAN7DIR)/flock-directory.7)
	install -m 644 completions/flock.bash $(DESTDIR)$(BASHDIR)/$(PROGRAM)
	install -m 644 completions/_flock $(DESTDIR)$(ZSHDIR)/_$(PROGRAM)
	install -m 644 completions/flock.fish $(DESTDIR)$(FISHDIR)/$(PROGRAM).fish

uninstall:                    ## remove what install, install-etcd and install-postgres put there
	for program in flock flock-etcd flock-postgres; do rm -f $(DESTDIR)$(BINDIR)/$$program $(DESTDIR)$(MAN1DIR)/$$program.1 \
		$(DESTDIR)$(BASHDIR)/$$program $(DESTDIR)$(ZSHDIR)/_$$program $(DESTDIR)$(FISHDIR)/$$program.fish; done
	rm -f $(DESTDIR)$(MAN7DIR)/flock-directory.7

dist: $(PAGES)                ## tarballs, packages, source and SHA256SUMS, into dist (a quarter of an hour; SYSTEMS as for binaries)
	@missing=; for program in go zip dpkg-deb md5sum sha1sum sha256sum; do \
		command -v $$program >/dev/null || missing="$$missing $$program"; done; \
		$${TAR:-tar} --version 2>/dev/null | grep -q GNU || missing="$$missing GNU-tar(TAR=gtar)"; \
		[ -z "$$missing" ] || { echo "make dist needs, and cannot find:$$missing" >&2; exit 1; }
	$(MAKE) --no-print-directory binaries
	rm -rf dist
	packaging/dist.sh flock $(VERSION) build dist $(SYSTEMS)
	for program in flock-etcd flock-postgres; do packaging/dist.sh $$program $(VERSION) build dist $(UNIX_SYSTEMS) || exit 1; done
	packaging/source.sh $(VERSION) dist
	for system in $(filter linux/amd64 linux/arm64,$(SYSTEMS)); do arch=$${system#*/}; \
		for package in flock-go flock-etcd flock-postgres; do binary=build/linux_$$arch/$${package%-go}; \
		packaging/deb.sh $$package $(VERSION) $$arch $$binary dist && \
		packaging/apk.sh $$package $(VERSION) $$arch $$binary dist || exit 1; done; done
	umask 022 && mkdir -p build && cd dist && sha256sum * >../build/SHA256SUMS && mv ../build/SHA256SUMS .

clean:                        ## remove what was built
	rm -rf flock flock-etcd flock-postgres build dist $(dir $(PAGES))

help:                         ## print this list
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' Makefile | expand -t 18

.PHONY: all always demo demo-etcd demo-postgres quick check test test-user long test-go test-beside test-etcd test-postgres race compat record mutants torture torture-etcd torture-postgres bench bench-etcd bench-postgres binaries cross test-portable test-kernels test-builds test-qemu test-gvisor test-wine test-machines install install-etcd install-postgres uninstall dist clean help
