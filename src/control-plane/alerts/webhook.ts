import { createHmac } from 'node:crypto';
import type { Secret } from '../../common/access/secret.js';
import type { SentAlert } from '../../common/ledger/alerts.js';
import { withDeadline } from '../../common/threads/deadline.js';
import { alertMessage } from './message.js';

/** Where alerts are sent, and what they are signed with. */
export interface WebhookTarget {
  readonly url: Secret;
  /** `whsec_` and base64, as Standard Webhooks writes secrets. */
  readonly secret: Secret;
}

/** Milliseconds for the whole call. */
const deadlineMs = 10_000;

/** The body of the call. The same for each try of an alert. */
export function webhookBody(alert: SentAlert): string {
  const { delivery: _, delivery_attempts: __, sent_at: ___, ...data } = alertMessage(alert);
  if (alert.event === 'anomaly') return JSON.stringify({ type: 'anomaly', timestamp: data.created_at, data });
  const { anomaly: ____, ...ofBudget } = data;
  return JSON.stringify({ type: `budget.${alert.event}`, timestamp: data.created_at, data: ofBudget });
}

/** Headers of Standard Webhooks. `at`: Unix seconds of this try. */
export function signedHeaders(id: string, at: number, body: string, secret: Secret): Record<string, string> {
  const key = Buffer.from(secret.reveal().replace(/^whsec_/, ''), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64');
  return {
    'content-type': 'application/json',
    'user-agent': 'headgate',
    'webhook-id': id,
    'webhook-timestamp': String(at),
    'webhook-signature': `v1,${signature}`,
  };
}

/** Sends an alert once. null: it was accepted; else why not, without the URL and without anything of the answer's. */
export async function sendAlert(
  { url, secret }: WebhookTarget,
  alert: SentAlert,
  signal: AbortSignal,
): Promise<string | null> {
  const body = webhookBody(alert);
  try {
    const headers = signedHeaders(alert.id, Math.floor(Date.now() / 1000), body, secret);
    // An alert is sent only to the configured address.
    const request = { method: 'POST', headers, body, redirect: 'manual' } as const;
    const response = await withDeadline(deadlineMs, signal, (within) =>
      fetch(url.reveal(), { ...request, signal: within }),
    );
    // Its body is of no interest, and may never end.
    await response.body?.cancel().catch(() => {});
    return response.ok ? null : `status ${response.status}`;
  } catch (error) {
    return reasonOf(error);
  }
}

/** `ECONNREFUSED`, `timeout`: an error's message may quote the URL. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'no connection';
  if (error.name === 'TimeoutError') return 'timeout';
  const { cause } = error;
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' ? code : 'no connection';
}
