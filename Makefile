# Every target does its own set-up, and is quick the second time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=
SIDE_BY_SIDE := -n auto --dist loadgroup --no-loadscope-reorder
COMPILED := $(addprefix tests/,admission cel cel_lib daemon jobs kube policies policy server store wheel)

VERSIONED := $(addprefix tests/,controlplane/test_control_plane.py api/test_crds_cluster.py chart cluster daemon e2e) $(addprefix --ignore=tests/e2e/test_,generated.py golden.py native.py pod_security.py policies_on_webhooks.py sent_again.py)

# Tests start hundreds of processes: without bytecode each would compile the sources again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install dev shell run test check bench page editor versions kueue-suite kueue-scheduler cluster soak living in-flight faults endurance year pending load fuzz reference docs schemas lock wheel test-wheel image sbom clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | column -t -s '|'

install: $(VENV)/.installed ## the command, at .venv/bin/sluice
dev: $(VENV)/.dev

export NOT_INSTALLED := make: pip could not install the packages, see above. Without access to PyPI, set PIP_INDEX_URL to an index of yours, or PIP_NO_INDEX=1 and PIP_FIND_LINKS to a folder of wheels.

# An older Python would make an environment that no later call replaces, and pip's message would not say why.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Sluice needs Python 3.11 or newer, and $(PYTHON) is %d.%d: make $(MAKECMDGOALS) PYTHON=python3.11" % sys.version_info[:2])'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: .ci/requirements.txt pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r .ci/requirements.txt || { echo "$$NOT_INSTALLED" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: .ci/requirements-dev.txt $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r .ci/requirements-dev.txt || { echo "$$NOT_INSTALLED" >&2; exit 1; }
	@touch $@

shell: install ## a shell in which `sluice` is on the PATH
	PATH="$(CURDIR)/$(BIN):$$PATH" $${SHELL:-sh}

run: install ## the main job on sample queues, no cluster needed; ARGS=--once ends by itself
	@$(BIN)/sluice run $(ARGS)

test: dev ## every test, the real control plane included
	$(BIN)/python -m tests.controlplane build
	$(BIN)/python -m tests.chart.helm
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) $(ARGS)

check: dev ## format, lint, types, imports
	$(BIN)/ruff format --check webhook tests
	$(BIN)/ruff check webhook tests
	$(BIN)/mypy
	$(BIN)/lint-imports

# A machine without a wheel for it runs the benchmarks without that column.
$(VENV)/.bench: .ci/requirements-bench.txt $(VENV)/.dev
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r .ci/requirements-bench.txt
	@touch $@

bench: $(VENV)/.bench ## every benchmark, ratios side by side
	$(BIN)/python -m tests.controlplane build
	$(BIN)/python -m tests.bench $(ARGS)

page: dev ## how long a reader of the page waits, and how long its answers keep the event loop; ARGS="queues pending"
	$(BIN)/python -m tests.dashboard.measure $(ARGS)
	$(BIN)/python -m tests.dashboard.measure_browser $(ARGS)

editor: dev ## how long an editor waits for `sluice lsp` in a repository of 500 policies
	$(BIN)/python -m tests.editor.measure

kueue-suite: dev ## Kueue's own tests against Sluice; KUEUE=dir of a copy, SUITES and ARGS for some
	$(BIN)/python -m tests.controlplane build
	$(BIN)/python -m tests.kueue_suite $(KUEUE) $(SUITES) $(ARGS)

kueue-scheduler: dev ## random clusters, by Kueue's own scheduler and by ours; KUEUE=dir of a copy, ARGS="--count 20000" or --traces
	$(BIN)/python -m tests.kueue_scheduler $(KUEUE) $(ARGS)

cluster: dev ## a real local control plane with Sluice in it, until Ctrl-C
	$(BIN)/python -m tests.controlplane up $(ARGS)

# Left out is what compares with the newest API server itself: MutatingAdmissionPolicy v1 is there from 1.36 on, and the
# others differ in words, in empty fields and in what they let pods do.
versions: dev ## the tests of the cluster side on the oldest and the newest API server that are supported
	for version in v1.33.13 v1.36.3; do export SLUICE_KUBERNETES=$$version; \
	$(BIN)/python -m tests.controlplane build && $(BIN)/python -m pytest -m cluster $(VERSIONED) $(ARGS) || exit 1; done

soak: dev ## article 003's full minute through the real API server
	$(BIN)/python -m tests.controlplane build
	$(BIN)/python -m tests.e2e.soak $(ARGS)

faults: dev ## every fault at full size: 50 kills, etcd stopped for 20 s, 10,000 Jobs at once; ARGS="-k kill" for some
	$(BIN)/python -m tests.controlplane build
	SLUICE_FAULTS=full $(BIN)/python -m pytest -v -o timeout=0 --durations=0 tests/faults $(ARGS)

endurance: dev ## Jobs for an hour, as fast as the API server stands: laws, their number, growth judged; ARGS="--minutes 5"
	$(BIN)/python -m tests.controlplane build
	$(BIN)/python -m tests.faults.endurance $(ARGS)

year: dev ## a year of Jobs through the real controller in virtual time, judged; ARGS="--jobs 10000", or --trace and --queues
	$(BIN)/python -m tests.bench.year $(ARGS)

pending: dev ## 50,000 pending Workloads: latency of reviews and a takeover judged; ARGS="--count 5000 --jobs --writes 500"
	$(BIN)/python -m tests.controlplane build
	$(BIN)/python -m tests.faults.pending $(ARGS)

load: dev ## Kueue's load runner on Sluice, Kueue and the least a controller can do, judged; KUEUE=a checkout of kubernetes-sigs/kueue
	$(BIN)/python -m tests.controlplane build
	$(BIN)/python -m tests.load $(KUEUE) $(ARGS)

living: dev ## 300 lives of a queue, each beside states built anew; ARGS=--hypothesis-seed=N for others
	SLUICE_EXAMPLES=300 $(BIN)/python -m pytest -o timeout=0 tests/queue/test_living.py $(ARGS)

in-flight: dev ## 300 lives of two replicas whose writes land late or never; ARGS=--hypothesis-seed=N for others
	SLUICE_EXAMPLES=300 $(BIN)/python -m pytest -o timeout=0 tests/cluster/test_writes_in_flight.py $(ARGS)

fuzz: dev ## random input of every kind, ARGS=SECONDS (60)
	$(BIN)/python -m tests.fuzz $(or $(ARGS),60)

schemas: dev ## the compact schemas of built-in kinds, from a real API server
	$(BIN)/python -m tests.controlplane build
	$(BIN)/python -m tests.schemas

reference: dev ## the reference pages that are made from the code
	$(BIN)/python -m tests.cel_lib.reference
	$(BIN)/python -m tests.cel.second_judge.reference
	$(BIN)/python -m webhook.offline.reference.queue_rules > docs/reference/queue-rules.md
	$(BIN)/python -m webhook.api.compatibility.page > docs/compatibility.md
	$(BIN)/sluice lint --pages docs/findings
	$(BIN)/sluice crds --to charts/sluice/crds
	$(BIN)/python -m tests.docs.reference

build/docs-venv/.installed: .ci/requirements-docs.txt
	$(PYTHON) -m venv build/docs-venv
	build/docs-venv/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r $<
	@touch $@

docs: reference build/docs-venv/.installed ## the reference pages, and the site in build/site
	build/docs-venv/bin/mkdocs build --quiet --strict --config-file .ci/mkdocs.yml
	! grep -rE '<(script|link)[^>]+(src|href)="https?:' build/site --include='*.html'

lock: dev ## pin the dependencies again, with hashes and no index address
	$(BIN)/uv pip compile --quiet --upgrade --generate-hashes --no-emit-index-url --no-annotate --no-header --universal --python-version 3.11 pyproject.toml --extra editor --group build -o .ci/requirements.txt
	$(BIN)/uv pip compile --quiet --upgrade --generate-hashes --no-emit-index-url --no-annotate --no-header --universal --python-version 3.11 pyproject.toml --extra editor --extra traces --group build --group wheel --group dev -o .ci/requirements-dev.txt
	$(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-annotate --no-header --universal --python-version 3.11 pyproject.toml -c .ci/requirements-dev.txt -o .ci/requirements-image.txt
	$(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-annotate --no-header --universal --python-version 3.11 --group build --group wheel -c .ci/requirements-dev.txt -o .ci/requirements-wheel.txt
	$(BIN)/uv pip compile --quiet --upgrade --generate-hashes --no-emit-index-url --no-annotate --no-header --universal --python-version 3.11 --group bench -o .ci/requirements-bench.txt
	$(BIN)/uv pip compile --quiet --upgrade --generate-hashes --no-emit-index-url --no-annotate --no-header --universal --python-version 3.11 --group docs -o .ci/requirements-docs.txt

# Built from the source distribution: mypyc writes beside the sources, where machine code would hide later edits.
wheel: dev ## the pure wheel, and the one with machine code for this machine (needs a C compiler), in dist
	rm -f dist/sluice_gate-*
	$(BIN)/python -m hatchling build --target sdist --target wheel
	HATCH_BUILD_HOOK_ENABLE_MYPYC=true $(BIN)/python -m pip wheel --disable-pip-version-check --no-cache-dir --no-deps --no-build-isolation --wheel-dir dist dist/sluice_gate-*.tar.gz

# No sources of the package are beside the tests: what they import is the wheel.
test-wheel: wheel ## the tests of what is compiled, on the compiled wheel in an environment of its own
	rm -rf build/installed
	$(PYTHON) -m venv build/installed/venv
	build/installed/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r .ci/requirements-dev.txt
	build/installed/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps dist/sluice_gate-*-cp3*.whl
	cp -R tests policies charts docs dist pyproject.toml README.md build/installed
	cd build/installed && SLUICE_SHARED=$${SLUICE_SHARED:-$(CURDIR)/../shared} venv/bin/python -m pytest $(SIDE_BY_SIDE) -m "not cluster and not slow" $(COMPILED) $(ARGS)

image: dev ## the image's content in build/image, by the steps of .ci/Containerfile, where no container builder is at hand
	$(BIN)/python -m tests.image build/image $(ARGS)

sbom: dev ## what the image holds, as a CycloneDX document, in dist
	$(BIN)/python -m tests.image.sbom dist/sluice.cdx.json

clean: ## remove what the targets made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache certs/dev build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
