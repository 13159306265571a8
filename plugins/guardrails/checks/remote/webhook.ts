import { getHeader, type HeaderList } from '../../../../src/common/http/headers.js';
import type { CheckResult, RemoteCheck, RemoteContext } from '../../check.js';
import { isPlain } from '../request/values.js';
import { brief, failed, postJson, ServiceFailed } from './calls.js';

interface Webhook {
  readonly webhookURL: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly forwardHeaders: boolean;
}

/** Headers with credentials, which go to providers only. */
const credentials =
  /^(?:authorization|proxy-authorization|cookie|(?:x-)?api-key|x-goog-api-key|x-gateway-.*(?:key|token|secret|config).*)$/;

/** The first value of each header that may leave. */
function forwarded(headers: HeaderList): Record<string, string> {
  const names = headers.filter((_, index) => index % 2 === 0 && !credentials.test(headers[index]!));
  return Object.fromEntries(names.map((name) => [name, getHeader(headers, name)!]));
}

/** What a webhook and a log server get. */
export function reportOf(context: RemoteContext, withHeaders: boolean): Record<string, unknown> {
  const { phase, text, body, answer, provider, requestType, metadata, headers } = context;
  const isBefore = phase === 'before';
  return {
    eventType: isBefore ? 'beforeRequestHook' : 'afterRequestHook',
    requestType,
    provider,
    metadata,
    request: {
      json: body,
      text: isBefore ? text : '',
      isStreamingRequest: body?.['stream'] === true,
      ...(withHeaders && { headers: forwarded(headers) }),
    },
    response: { json: answer, text: isBefore ? '' : text, statusCode: isBefore ? null : 200 },
  };
}

/** The new body that a webhook may answer with. */
function changedBody(
  answer: Readonly<Record<string, unknown>>,
  phase: RemoteContext['phase'],
): CheckResult['body'] {
  const part = isPlain(answer['transformedData'])
    ? answer['transformedData'][phase === 'before' ? 'request' : 'response']
    : null;
  const json = isPlain(part) ? part['json'] : null;
  return isPlain(json) ? { ...json } : undefined;
}

/** Asks a server: the verdict is its answer's. It may answer with a changed request or answer. */
export const webhook: RemoteCheck = {
  id: 'default.webhook',
  runs: 'remote',
  transforms: true,
  // It gets the whole body.
  judgedOnly: true,
  judgesBody: true,
  async run(context, parameters) {
    const { webhookURL, headers = {}, forwardHeaders } = parameters as unknown as Webhook;
    try {
      const { status, json } = await postJson(
        context,
        webhookURL,
        headers,
        reportOf(context, forwardHeaders),
      );
      if (status < 200 || status > 299)
        throw new ServiceFailed(`The webhook answered with status ${status}.`);
      if (!isPlain(json) || typeof json['verdict'] !== 'boolean')
        throw new ServiceFailed(
          'The webhook answered without a verdict: {"verdict": true} or {"verdict": false} is expected.',
        );
      const { verdict } = json as { verdict: boolean };
      const body = changedBody(json, context.phase);
      const explanation = `The webhook's verdict is ${verdict}.`;
      const data = { explanation, responseData: brief(json['data']) };
      return body === undefined ? { verdict, data } : { verdict, data, body };
    } catch (error) {
      return failed(error, 'The webhook could not be asked.');
    }
  },
};
