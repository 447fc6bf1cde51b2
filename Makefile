# `make demo` and `make test` do all the set-up they need, in .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DEMO ?= runs/demo

.PHONY: demo test slow lint clean

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@

demo: $(VENV)/.installed
	$(BIN)/video2phys run sample_videos/soft_ball -o $(DEMO)
	$(BIN)/python sample_videos/compare.py sample_videos/soft_ball $(DEMO)

test: $(VENV)/.installed lint
	$(BIN)/python -m pytest -m "not slow"

slow: $(VENV)/.installed
	$(BIN)/python -m pytest -m slow

lint: $(VENV)/.installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright --pythonpath $(BIN)/python

clean:
	rm -rf $(VENV) runs build dist *.egg-info
