import type { Plugin } from '../common/plugin-host/plugin.js';
import { LateHookError } from '../data-plane/pipeline/plugins/custom-stage.js';
import { openPlugin } from './harness.js';
import type { InjectedRequest, LogLine } from './kit-types.js';

/** A request of `headgate plugin test`, and what became of it. */
export interface Tried {
  readonly request: string;
  readonly status: number;
  /** Code and message of its refusal; null: it was answered. */
  readonly refusal: string | null;
  readonly calls: number;
  /** What the plugin did that no plugin should: it threw, or gave back something of the wrong kind. */
  readonly faults: readonly string[];
}

const formats: readonly (readonly [string, string])[] = [
  ['chat', '/v1/chat/completions'],
  ['messages', '/v1/messages'],
  ['responses', '/v1/responses'],
  ['gemini', '/v1beta/models/gemini-2.5-flash:generateContent'],
  ['completions', '/v1/completions'],
  ['embeddings', '/v1/embeddings'],
];
const noStream = new Set(['embeddings']);

/** Milliseconds that a hook may wait: the simulated provider answers at once. */
const mostMs = 5000;

/**
 * Sends the sample's request, whole and as a stream; without a body of its own, a short one in every format. Statuses are not
 * judged, since a plugin may refuse; what it does wrong is. After a hook that waits for too long nothing more is sent.
 */
export async function tryPlugin(
  plugin: Plugin,
  options: unknown,
  sample: InjectedRequest,
  hookTimeoutMs = mostMs,
): Promise<Tried[]> {
  const opened = await openPlugin(plugin, options, { hookTimeoutMs });
  try {
    const tried: Tried[] = [];
    for (const [name, request] of requestsOf(sample)) {
      const { status, outcome, calls, log } = await opened.inject(request);
      const refusal = outcome.error === null ? null : `${outcome.error}: ${outcome.message}`;
      tried.push({ request: name, status, refusal, calls: calls.length, faults: faultsOf(log) });
      if (log.some(({ fields }) => fields['err'] instanceof LateHookError)) break;
    }
    return tried;
  } finally {
    await opened.close();
  }
}

function requestsOf(sample: InjectedRequest): [string, InjectedRequest][] {
  if (sample.body !== undefined && typeof sample.body === 'string') return [['sample', sample]];
  if (sample.body !== undefined)
    return [
      ['sample', sample],
      ['sample, stream', { ...sample, body: { ...sample.body, stream: true } }],
    ];
  return formats.flatMap(([name, path]): [string, InjectedRequest][] => {
    const whole: [string, InjectedRequest] = [name, { ...sample, path }];
    if (noStream.has(name)) return [whole];
    const streamPath = path.replace(':generateContent', ':streamGenerateContent?alt=sse');
    return [whole, [`${name}, stream`, { ...sample, path: streamPath, stream: true }]];
  });
}

function faultsOf(log: readonly LogLine[]): string[] {
  return log
    .filter(({ level, fields }) => level === 'error' && fields['plugin'] !== undefined)
    .map(({ message, fields }) => {
      const { err } = fields as { err?: unknown };
      return err === undefined
        ? message
        : `${message}: ${err instanceof Error ? (err.stack ?? err.message) : String(err)}`;
    });
}
