import type { Message } from '../../../../proto/codec.js';
import type { AuditEntry, Store } from '../../store/store.js';
import type { Caller } from '../access/caller.js';
import type { Inbound } from '../access/inbound.js';
import type { AdminError } from '../admin-error.js';
import { redacted, redactedQuery } from './redact.js';

/** Longer texts are cut: a row is there to be read. Characters. */
const longest = 64 * 1024;
const cut = (text: string): string => (text.length > longest ? `${text.slice(0, longest)}…` : text);

/** The place over REST that a call over gRPC would have had. */
function placeOf({ method, rest }: Inbound, request: Message): { verb: string; uri: string; query: string } {
  if (rest !== null) return rest;
  const [binding] = method.bindings;
  if (binding === undefined) return { verb: 'POST', uri: method.path, query: '' };
  const uri = binding.path.replace(/\{([^}]*)\}/g, (_, name: string) =>
    encodeURIComponent(String(request[name] ?? '')),
  );
  return { verb: binding.verb, uri, query: '' };
}

/** The field that identifies the record of a request: the last one of its path. */
function namedIn({ method }: Inbound, request: Message): string | null {
  const place = /\{([^}]*)\}[^{}]*$/.exec(method.bindings[0]?.path ?? '')?.[1];
  const value = place === undefined ? undefined : request[place];
  return typeof value === 'string' && value !== '' ? cut(value) : null;
}

/** The audit log's row of a call. `request` null: it could not be read. `error` null: it was allowed. */
export function auditEntry(
  store: Store,
  call: Inbound,
  caller: Caller,
  request: Message | null,
  error: AdminError | null,
): AuditEntry {
  const { access } = call.method;
  const { organisationId, key } = caller;
  const [first] = caller.changes;
  const { verb, uri, query } = placeOf(call, request ?? {});
  const fingerprint = (secret: string): string => store.audit.fingerprint(organisationId, secret);
  const body = request === null ? {} : redacted(call.method.request, request, fingerprint);
  return {
    organisationId,
    workspaceId: first === undefined ? caller.workspaceId : first.workspaceId,
    method: verb,
    uri: cut(uri),
    requestId: call.requestId,
    requestBody: cut(JSON.stringify({ ...body, ...first?.details })),
    queryParams: cut(redactedQuery(call.method.request, query, fingerprint)),
    requestHeaders: JSON.stringify(
      call.userAgent === null ? {} : { 'user-agent': call.userAgent.slice(0, 512) },
    ),
    userId: caller.id,
    userType: key.userId === null ? 'api_key' : 'user',
    actorName: key.keyName,
    responseStatusCode: error === null ? 200 : error.answered.http,
    resourceType: access.resource,
    resourceId: first?.id ?? namedIn(call, request ?? {}),
    action: access.action,
    clientIp: call.address === '' ? null : call.address,
    country: null,
    allowed: error === null,
  };
}
