# The worker that answers `gr`, on the CPU or on an NVIDIA GPU.
#
#   docker build -f deploy/images/worker.Dockerfile -t shortlist-worker .
#   docker build -f deploy/images/worker.Dockerfile -t shortlist-worker-cuda --build-arg TORCH=cuda .
#   docker run --gpus all ... shortlist-worker-cuda
#
# The CUDA libraries come with PyTorch's wheels, so both start from the same image; the GPU's driver is the host's.
ARG PYTHON_IMAGE=python:3.11.14-slim-bookworm
ARG TORCH=cpu

FROM ${PYTHON_IMAGE} AS plain
ARG STORE=s3
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/venv
COPY deploy/locks /src/deploy/locks
COPY deploy/images/trim.sh /src/deploy/images/trim.sh
WORKDIR /src
RUN /opt/venv/bin/pip install --require-hashes --only-binary :all: -r deploy/locks/api.txt -r deploy/locks/${STORE}.txt -r deploy/locks/worker.txt
RUN python -m pip install --require-hashes --only-binary :all: -r deploy/locks/build.txt
COPY pyproject.toml README.md LICENSE /src/
COPY models /src/models
COPY offline /src/offline
COPY service /src/service
RUN python -m pip wheel --no-deps --no-build-isolation --no-index --wheel-dir /wheels .
RUN /opt/venv/bin/pip install --no-deps --no-index --find-links /wheels shortlist

FROM plain AS torch-cpu
# PyTorch's CPU build is not on PyPI; --no-deps keeps this index from giving anything else.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
RUN /opt/venv/bin/pip install --no-deps --require-hashes --only-binary :all: --index-url ${TORCH_INDEX} -r deploy/locks/torch-cpu.txt

FROM plain AS torch-cuda
RUN /opt/venv/bin/pip install --no-deps --require-hashes --only-binary :all: -r deploy/locks/torch-cuda.txt

FROM torch-${TORCH} AS environment
RUN sh deploy/images/trim.sh /opt/venv

FROM ${PYTHON_IMAGE}
RUN groupadd --gid 10001 shortlist && useradd --uid 10001 --gid 10001 --no-create-home --shell /usr/sbin/nologin shortlist \
    && install -d -o 10001 -g 10001 /var/lib/shortlist /var/lib/shortlist/bundles
COPY --from=environment /opt/venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    NUMBA_CACHE_DIR=/var/lib/shortlist/numba \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility \
    SHORTLIST_BUNDLES=/var/lib/shortlist/bundles \
    SHORTLIST_DATA_DIR=/var/lib/shortlist/data \
    SHORTLIST_GR_HEALTH_PORT=8001
USER 10001:10001
WORKDIR /var/lib/shortlist
VOLUME /var/lib/shortlist
EXPOSE 8001
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=120s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as u; u.urlopen('http://127.0.0.1:' + os.environ['SHORTLIST_GR_HEALTH_PORT'] + '/healthz', timeout=2)"]
CMD ["shortlist", "worker"]
