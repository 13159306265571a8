import { resourceFromAttributes } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { type LogSink, SinkRefused } from '../sinks/sink.js';
import { spansOf } from './spans.js';

export interface OtlpOptions {
  /** Of the collector, without `/v1/traces`. */
  readonly endpoint: string;
  readonly protocol: 'http/protobuf' | 'http/json';
  /** `name=value,name=value`, percent-encoded; null: none. */
  readonly headers: string | null;
  readonly serviceName: string;
  /** As headers; null: none. */
  readonly resourceAttributes: string | null;
  readonly version: string;
}

const sendMs = 30_000;

interface SpanExporter {
  export(
    spans: ReadableSpan[],
    done: (result: { readonly code: number; readonly error?: Error }) => void,
  ): void;
}

/** Spans of rows, to a collector of OpenTelemetry. */
export async function otlpSink(options: OtlpOptions): Promise<LogSink> {
  const { OTLPTraceExporter } =
    options.protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto');
  const url = `${options.endpoint.replace(/\/+$/, '')}/v1/traces`;
  const exporter: SpanExporter = new OTLPTraceExporter({
    ...{ url, timeoutMillis: sendMs, headers: pairsOf(options.headers) },
  });
  const resource = resourceFromAttributes({
    ...pairsOf(options.resourceAttributes),
    ...{ 'service.name': options.serviceName, 'service.version': options.version },
  });
  return {
    ...{ name: 'otlp', wantsBodies: false, batchRows: 200, batchMs: 1000 },
    send: ({ rows }) =>
      new Promise((resolve, reject) => {
        // What was added to the log (custom logs, imports, spans of applications) was not served here, and may have spans of its own.
        const served = rows.filter(({ row }) => row.node !== null);
        const spans = served.flatMap(({ row }) => spansOf(row, resource));
        if (spans.length === 0) return resolve();
        exporter.export(spans, ({ code, error }) => {
          if (code === 0) resolve();
          // Its message may have what the collector answered.
          else
            reject(
              new SinkRefused(
                (error as { readonly code?: unknown })?.code?.toString() ?? error?.name ?? 'refused',
              ),
            );
        });
      }),
  };
}

/** Of `a=1,b=2`, as OpenTelemetry writes lists in the environment. */
function pairsOf(text: string | null): Record<string, string> {
  const pairs = (text ?? '').split(',').flatMap((pair) => {
    const at = pair.indexOf('=');
    return at > 0 ? [[pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())]] : [];
  });
  return Object.fromEntries(pairs);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
