# Offline jobs: build, train, evaluate, audit, push. It runs a command and ends.
#
#   docker build -f deploy/images/jobs.Dockerfile -t shortlist-jobs .
#   docker run -v data:/data:ro -v work:/var/lib/shortlist shortlist-jobs \
#     build --interactions /data/interactions.parquet --items /data/items.parquet --bundles /var/lib/shortlist/bundles
ARG PYTHON_IMAGE=python:3.11.14-slim-bookworm
ARG TORCH=cpu

FROM ${PYTHON_IMAGE} AS plain
ARG STORE=s3
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/venv
COPY deploy/locks /src/deploy/locks
COPY deploy/images/trim.sh /src/deploy/images/trim.sh
WORKDIR /src
RUN /opt/venv/bin/pip install --require-hashes --only-binary :all: -r deploy/locks/api.txt -r deploy/locks/${STORE}.txt -r deploy/locks/jobs.txt
RUN python -m pip install --require-hashes --only-binary :all: -r deploy/locks/build.txt
COPY pyproject.toml README.md LICENSE /src/
COPY models /src/models
COPY offline /src/offline
COPY service /src/service
RUN python -m pip wheel --no-deps --no-build-isolation --no-index --wheel-dir /wheels .
RUN /opt/venv/bin/pip install --no-deps --no-index --find-links /wheels shortlist

FROM plain AS torch-cpu
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
    MPLCONFIGDIR=/tmp/matplotlib
USER 10001:10001
WORKDIR /var/lib/shortlist
VOLUME /var/lib/shortlist
# A job has no health of its own: its exit code is what counts.
HEALTHCHECK NONE
ENTRYPOINT ["shortlist"]
CMD ["--help"]
