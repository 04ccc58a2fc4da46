# azcore in a container: everything that `python -m azcore` does, on a CPU unless told otherwise.
#
#   docker build -t azcore .
#   docker run --rm --init -v "$PWD:/work" azcore game=go            # runs/ in this folder
#   docker build -t azcore:cuda . --build-arg EXTRAS=plot,ray \
#       --build-arg TORCH_INDEX=https://download.pytorch.org/whl/cu130
#   docker run --rm --init --gpus all --shm-size=8g -v "$PWD:/work" azcore:cuda game=go scale=workstation
#
# There is no HEALTHCHECK: a run that goes wrong ends, and its exit status says so.
ARG PYTHON=3.11
FROM python:${PYTHON}-slim

# The index that torch comes from: the builds for CPUs alone, those for a version of CUDA, or with
# TORCH_INDEX= what the usual index has. The rest comes from the usual index, as constraints.txt
# has tested it.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
# Of pyproject.toml: openvino is the fastest network on a CPU, ray is for backend=ray.
ARG EXTRAS=openvino,plot

ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_ROOT_USER_ACTION=ignore

WORKDIR /src
COPY constraints.txt ./
RUN if [ -n "$TORCH_INDEX" ]; then \
      pip install --no-deps --index-url "$TORCH_INDEX" "$(grep '^torch==' constraints.txt)"; \
    fi
COPY pyproject.toml setup.py README.md LICENSE ./
COPY azcore ./azcore
COPY conf ./conf
COPY games ./games
RUN pip install -c constraints.txt ".[$EXTRAS]"

# Compiled rules are kept in the home folder, so the next command in the same container begins at
# once. Whoever the container runs as (docker run --user) may write there.
RUN useradd --create-home azcore && mkdir /work && chown azcore /work && chmod 777 /home/azcore
ENV HOME=/home/azcore PYTHONUNBUFFERED=1
USER azcore
WORKDIR /work
ENTRYPOINT ["python", "-m", "azcore"]
CMD ["--help"]
