import { BodyRecord } from '../../../common/bytes/body-record.js';
import type { Exchange } from '../../../common/core/exchange.js';
import { getHeader } from '../../../common/http/headers.js';
import { loggedHeaders, sensitiveNames } from '../../../common/http/logged-headers.js';
import { asciiJson, LineWriter } from '../../../common/ledger/line-writer.js';
import { type LoggedCall, type LoggedHeaders, providerBodiesId } from '../../../common/ledger/record.js';
import { bodyEditsOf } from '../outgoing/target-body.js';
import type { Parts } from '../parts.js';
import { callSecrets } from '../secrets/call-secrets.js';
import type { SecretMask } from '../secrets/secret-mask.js';
import { Answer } from './answer.js';
import { writeLoggedHeaders } from './headers-json.js';

/** Characters of the edits of a body, together; longer ones are not logged. */
const maxEditsLength = 64 * 1024;

/**
 * Keeps the bodies and headers of an exchange for the log: those of the client and, only if they differ, those of the call to
 * the provider.
 */
export function keepBodies(parts: Parts, x: Exchange): void {
  const request = x.request.bytes;
  const response = x.answeredBy?.sent ?? x.answeredBy?.received ?? x.saved?.answer ?? null;
  if (request === null && response === null) return;
  const sensitive = sensitiveOf(parts, x);
  const answer = (x.answeredBy ?? x.attempts.at(-1))?.answer;
  const call = answer instanceof Answer ? loggedCall(answer, x) : null;
  keep(parts, x, x.id, request, response, headersJson(x, sensitive, call));
  if (call === null || (call.same[0] === 1 && call.same[1] === 1)) return;
  keepProviderBodies(parts, x, answer as Answer, call, sensitive);
}

/** Buffer for the JSON of `LoggedHeaders`; reused by each call. */
const written = new LineWriter(16 * 1024, 4 * 1024 * 1024);

function headersJson(x: Exchange, sensitive: ReadonlySet<string>, call: LoggedCall | null): Buffer {
  written.used = 0;
  written.raw('{"request":');
  writeLoggedHeaders(written, x.request.headers, sensitive);
  if (x.sentHeaders !== null) {
    written.raw(',"response":');
    writeLoggedHeaders(written, x.sentHeaders, sensitive, x.passedHeaders);
  }
  if (call !== null) {
    const { url, status, same } = call;
    written.raw(',"call":{"url":');
    written.text(url);
    written.raw(`,"status":${status},"same":[${same[0]},${same[1]}]}`);
  }
  written.raw('}');
  return written.bytes.subarray(0, written.used);
}

function keep(
  { journal, limits: { maxRecordBytes: cap } }: Parts,
  x: Exchange,
  id: string,
  request: Buffer | null,
  response: Buffer | BodyRecord | null,
  headers: Buffer,
): void {
  const isRecord = response instanceof BodyRecord;
  const isCut = isRecord && response.cut;
  journal.keepBodies({
    id,
    at: x.startedAt,
    org: x.principal.organisationId,
    workspace: x.principal.workspaceId,
    request: upTo(cap, request),
    response: isRecord ? response.parts() : upTo(cap, response),
    cut: isCut || (request?.length ?? 0) > cap || (response?.length ?? 0) > cap,
    headers,
  });
}

const bothSame = [1, 1] as const;

function loggedCall(answer: Answer, x: Exchange): LoggedCall {
  const { call } = answer.outgoing;
  const isSent = call.body === x.request.bytes || (call.body !== null && !Buffer.isBuffer(call.body));
  // If a guardrail has changed the answer, the original is not kept.
  const isReceived = answer.isOriginal && answer.attempt.sent === undefined;
  // The mask of an answer is made with its head.
  const mask = answer.attempt.status === 0 ? callSecrets(answer.outgoing, x, true).all : answer.mask;
  return {
    url: shownUrl(call.url, mask),
    status: answer.attempt.status,
    same: isSent && isReceived ? bothSame : [isSent ? 1 : 0, isReceived ? 1 : 0],
  };
}

/** Cache of one entry: most calls have the same address and credential as the previous one. */
let last: { readonly url: string; readonly mask: SecretMask; readonly shown: string } | null = null;

function shownUrl(url: string, mask: SecretMask): string {
  if (last !== null && last.url === url && last.mask === mask) return last.shown;
  const query = url.indexOf('?');
  const shown = mask.text(query < 0 ? url : url.slice(0, query));
  last = { url, mask, shown };
  return shown;
}

function keepProviderBodies(
  parts: Parts,
  x: Exchange,
  answer: Answer,
  { same }: LoggedCall,
  sensitive: ReadonlySet<string>,
): void {
  const { outgoing } = answer;
  const { call, address } = outgoing;
  const sent = same[0] === 0 && Buffer.isBuffer(call.body) ? call.body : null;
  const original = answer.attempt.sent === undefined ? answer.original : null;
  // Any header that is stored with a provider may be a secret.
  const stored = new Set(sensitive);
  for (let i = 0; i < address.headers.length; i += 2) stored.add(address.headers[i]!);
  const { all } = callSecrets(outgoing, x, true);
  const edits = outgoing.conversion === null ? [] : bodyEditsOf(x, call.target, address);
  const length = edits.reduce((sum, { key, value }) => sum + key.length + (value?.length ?? 0), 0);
  const headers: LoggedHeaders = {
    request: masked(loggedHeaders(call.headers, stored), (text) => all.text(text)),
    response: loggedHeaders(answer.headers, sensitive),
    ...(outgoing.conversion !== null && { isConverted: true as const }),
    ...(edits.length > 0 && length <= maxEditsLength && { edits }),
  };
  keep(parts, x, providerBodiesId(x.id), sent, original, Buffer.from(asciiJson(headers)));
}

function masked(headers: Record<string, string>, mask: (text: string) => string): Record<string, string> {
  for (const name in headers) headers[name] = mask(headers[name]!);
  return headers;
}

function sensitiveOf({ sensitiveHeaders }: Parts, { request: { headers } }: Exchange): ReadonlySet<string> {
  return sensitiveNames(sensitiveHeaders.map((name) => getHeader(headers, name)));
}

const upTo = (cap: number, bytes: Buffer | null): Buffer | null =>
  bytes === null || bytes.length <= cap ? bytes : bytes.subarray(0, cap);
