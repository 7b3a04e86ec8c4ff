# The HTTP service. No torch: `gr` is answered by a worker.
#
#   docker build -f deploy/images/api.Dockerfile -t shortlist-api .
#   docker run --read-only --tmpfs /tmp -v shortlist:/var/lib/shortlist -p 8000:8000 \
#     -e SHORTLIST_REDIS_URL=redis://redis:6379/0 shortlist-api
#
# Pin PYTHON_IMAGE by digest where your registry tells one: --build-arg PYTHON_IMAGE=python@sha256:...
ARG PYTHON_IMAGE=python:3.11.14-slim-bookworm

FROM ${PYTHON_IMAGE} AS environment
# s3 or gcs: which object storage the image reaches.
ARG STORE=s3
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/venv
COPY deploy/locks /src/deploy/locks
COPY deploy/images/trim.sh /src/deploy/images/trim.sh
WORKDIR /src
RUN /opt/venv/bin/pip install --require-hashes --only-binary :all: -r deploy/locks/api.txt -r deploy/locks/${STORE}.txt
RUN python -m pip install --require-hashes --only-binary :all: -r deploy/locks/build.txt
COPY pyproject.toml README.md LICENSE /src/
COPY models /src/models
COPY offline /src/offline
COPY service /src/service
RUN python -m pip wheel --no-deps --no-build-isolation --no-index --wheel-dir /wheels .
RUN /opt/venv/bin/pip install --no-deps --no-index --find-links /wheels shortlist
RUN sh deploy/images/trim.sh /opt/venv

FROM ${PYTHON_IMAGE}
RUN groupadd --gid 10001 shortlist && useradd --uid 10001 --gid 10001 --no-create-home --shell /usr/sbin/nologin shortlist \
    && install -d -o 10001 -g 10001 /var/lib/shortlist /var/lib/shortlist/bundles
COPY --from=environment /opt/venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    NUMBA_CACHE_DIR=/var/lib/shortlist/numba \
    SHORTLIST_BUNDLES=/var/lib/shortlist/bundles \
    SHORTLIST_DATA_DIR=/var/lib/shortlist/data \
    SHORTLIST_HOST=0.0.0.0 \
    SHORTLIST_PORT=8000 \
    SHORTLIST_GR_WORKERS=0
USER 10001:10001
WORKDIR /var/lib/shortlist
VOLUME /var/lib/shortlist
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as u; u.urlopen('http://127.0.0.1:' + os.environ['SHORTLIST_PORT'] + '/healthz', timeout=2)"]
CMD ["shortlist", "serve"]
