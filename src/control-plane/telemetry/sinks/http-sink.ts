import type { LogSinkSettings } from '../../../common/settings/log-sinks.js';
import { withDeadline } from '../../../common/threads/deadline.js';
import { linesOf } from './lines.js';
import { type LineOf, type LogSink, SinkRefused } from './sink.js';

const usualRows = 500;
const usualMs = 1000;

const clickhouseTable = 'gateway_logs';

/** Sends rows as JSON lines in the body of a POST. `callMs`: time limit of one call. */
export function httpSink(name: string, settings: LogSinkSettings, lineOf: LineOf, callMs = 30_000): LogSink {
  const { batch_rows: batchRows = usualRows, batch_ms: batchMs = usualMs } = settings;
  const isClickhouse = settings.type === 'clickhouse';
  return {
    ...{ name, wantsBodies: settings.bodies ?? false, batchRows, batchMs },
    async send({ id, rows }, signal) {
      const url = isClickhouse ? insertUrl(settings.url, id) : settings.url;
      const headers = {
        'user-agent': 'headgate',
        ...settings.headers,
        'content-type': 'application/x-ndjson',
        'x-gateway-batch-id': id,
      };
      const body = await linesOf(rows, lineOf);
      await withDeadline(callMs, signal, (within) => post(url, { headers, body, signal: within }));
    },
  };
}

/** ClickHouse counts a block with the same token once, if the table has `non_replicated_deduplication_window`. */
function insertUrl(text: string, id: string): string {
  const url = new URL(text);
  const parameters = url.searchParams;
  const set = (name: string, value: string): void => {
    if (!parameters.has(name)) parameters.set(name, value);
  };
  set('query', `INSERT INTO ${clickhouseTable} FORMAT JSONEachRow`);
  set('input_format_skip_unknown_fields', '1');
  set('date_time_input_format', 'best_effort');
  parameters.set('insert_deduplication_token', id);
  return url.href;
}

async function post(
  url: string,
  request: { readonly headers: Record<string, string>; readonly body: Buffer; readonly signal: AbortSignal },
): Promise<void> {
  let response: Response;
  try {
    // Rows go to no other address than the one that was set.
    response = await fetch(url, { method: 'POST', redirect: 'manual', ...request });
  } catch (error) {
    throw new SinkRefused(reasonOf(error));
  }
  await response.body?.cancel().catch(() => {});
  if (!response.ok) throw new SinkRefused(`status ${response.status}`);
}

/** `ECONNREFUSED`, `timeout`: an error's message may quote the URL. */
function reasonOf(error: unknown): string {
  const { name, cause } = error as Error;
  if (name === 'TimeoutError') return 'timeout';
  const code = (cause as NodeJS.ErrnoException | undefined)?.code;
  return code ?? name;
}
