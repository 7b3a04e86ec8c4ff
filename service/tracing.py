"""OpenTelemetry traces, where they are asked for; exporters are set up by the OTEL_* variables."""

from starlette.types import ASGIApp

from models.errors import MissingExtraError

SERVICE_NAME = "shortlist"
UNTRACED = "healthz,readyz,metrics,users"
"""Probes, and paths that name a user."""


def traced(app: ASGIApp) -> ASGIApp:
    """The application with a span for each request, exported in batches over OTLP.

    Raises:
        MissingExtraError: the OpenTelemetry packages are not installed.
    """
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.util.http import parse_excluded_urls
    except ImportError as error:
        raise MissingExtraError(
            "SHORTLIST_TRACING",
            found=str(error),
            expected="the OpenTelemetry SDK, its OTLP exporter and its ASGI instrumentation",
            remedy="Install the extra: pip install 'shortlist[tracing]'.",
        ) from error
    provider = TracerProvider(resource=Resource.create({"service.name": SERVICE_NAME}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    wrapped: ASGIApp = OpenTelemetryMiddleware(app, excluded_urls=parse_excluded_urls(UNTRACED))
    return wrapped
