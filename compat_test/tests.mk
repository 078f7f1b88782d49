# The parts of the tests, and the long ones: the root's Makefile includes this.

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
	PATH="$$PWD/compat_test/elsewhere/old:$$PATH" sh completions/test.sh ./flock
	@if command -v mandoc >/dev/null; then for page in man/*.[17] $(PAGES) packaging/debian/*.8; do \
		mandoc -T lint -W warning $$page || exit 1; done; \
		else echo 'mandoc is missing: manual pages not checked'; fi

# A package of the standard library tells whether there is a race detector. make long names all packages with goroutines.
RACED = ./fallback/...

race:                         ## run the directory lock's tests with the race detector
	@if out=$$(CGO_ENABLED=1 go test -race -run '^$$' errors 2>&1); then \
		CGO_ENABLED=1 go test -race -short -timeout $(TIMEOUT) -count=1 -skip TestEveryInterleaving $(RACED); \
		else echo "race: not run: there is no race detector or no C compiler here: $$out"; fi

# FLOCK_MUTANTS=every changes places of the source: PLACES='directories and files', at random SAMPLE=number of them with SEED=number.
mutants:                      ## show that the cases see faults in the source (FLOCK_MUTANTS=name for some)
	FLOCK_MUTANTS=$${FLOCK_MUTANTS:-*} FLOCK_PLACES='$(PLACES)' FLOCK_SAMPLE=$(SAMPLE) FLOCK_SEED=$(SEED) \
		nice go test ./compat_test -count=1 -v -timeout 24h -run '(Mutants|EveryMutant)$$'

torture: flock                ## kill holders at random for long (an hour; with FLOCK_TORTURE=5m five)
	FLOCK_TORTURE=$${FLOCK_TORTURE:-1m} go test ./compat_test -count=1 -v -timeout 24h \
		-run 'TestTorture|TestKilledAtEverySystemCall|TestRandomScripts'
	FLOCK_TORTURE=$${FLOCK_TORTURE:-1m} go test ./fallback -count=1 -v -timeout 24h

bench: flock                  ## measure beside util-linux flock and other lockers
	go run ./compat_test/bench -svg compat_test/bench/bench.svg $(BENCHFLAGS) ./flock

test-packages: flock flock-etcd flock-postgres ## make the packages, and check them and the commands of their READMEs (a minute)
	sh packaging/test.sh ./flock
	sh packaging/test.sh ./flock ./flock-etcd
	sh packaging/test.sh ./flock ./flock-postgres

test-portable: flock          ## run the cases where there is no /proc, as on other systems (a minute)
	go test -c -o build/compat.test ./compat_test
	sh compat_test/run.sh sh compat_test/portable.sh

test-kernels: flock           ## run the cases with the answers of other kernels (a minute; CASES=core: a little less)
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

.PHONY: test-user long test-go test-beside race mutants torture bench test-packages test-portable test-kernels \
	test-builds test-qemu test-gvisor test-wine test-machines
