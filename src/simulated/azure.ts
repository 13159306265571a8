import type { IncomingMessage } from 'node:http';
import { jsonAnswer, type SimulatedAnswer } from './answer.js';
import type { Behaviour } from './behaviour.js';
import { chatCompletion, completion, embedding, openAiError } from './openai.js';
import { response } from './responses.js';
import { type Json, newId, textOf } from './text.js';

/**
 * Azure OpenAI, Foundry and Entra's tokens, after learn.microsoft.com. A prompt that contains [blocked] is what its
 * content filter refuses.
 */

const deploymentPath = /^\/openai\/deployments\/([^/]+)\/(chat\/completions|completions|embeddings)$/;
const undatedPath =
  /^\/(?:(?:openai\/v1|models)\/(chat\/completions|completions|embeddings)|openai\/v1\/(responses))$/;
const tokenPath = /^\/([\w.-]+)\/oauth2\/v2\.0\/token$/;

export function isAzurePath(path: string): boolean {
  return deploymentPath.test(path) || undatedPath.test(path) || tokenPath.test(path);
}

export function azureAnswer(
  request: IncomingMessage,
  path: string,
  bytes: Buffer,
  behaviour: Behaviour,
): SimulatedAnswer {
  const tenant = tokenPath.exec(path)?.[1];
  if (tenant !== undefined) return entraToken(tenant, new URLSearchParams(bytes.toString('utf8')));
  const refusal = checkKey(request) ?? checkVersion(request, path);
  if (refusal !== null) return refusal;
  if (behaviour.fault !== null && /^\d+$/.test(behaviour.fault)) return failed(behaviour);
  let given: Json;
  try {
    given = JSON.parse(bytes.toString('utf8')) as Json;
  } catch {
    return openAiError(400, 'We could not parse the JSON body of your request.');
  }
  const [, deployment, operation] = deploymentPath.exec(path) ?? [null, null, undatedOperation(path)];
  // In dated paths the deployment of the path answers, whatever the body names.
  const body = deployment == null ? given : { ...given, model: decodeURIComponent(deployment) };
  if (textOf((body['messages'] as Json[] | undefined)?.at(-1)?.['content']).includes('[blocked]'))
    return blocked();
  switch (operation) {
    case 'chat/completions':
      return filtered(chatCompletion(body, behaviour));
    case 'completions':
      return completion(body, behaviour);
    case 'responses':
      return response(body, behaviour);
    default:
      return embedding(body);
  }
}

function undatedOperation(path: string): string | undefined {
  const found = undatedPath.exec(path);
  return found?.[1] ?? found?.[2];
}

/** A key, or a token that Entra gave here. */
function checkKey({ headers }: IncomingMessage): SimulatedAnswer | null {
  const key = headers['api-key'] ?? headers.authorization?.replace(/^Bearer\s+/i, '') ?? '';
  if (key !== '' && !String(key).startsWith('sk-invalid')) return null;
  return openAiError(
    401,
    'Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.',
    { code: '401' },
  );
}

function checkVersion(request: IncomingMessage, path: string): SimulatedAnswer | null {
  const version = new URLSearchParams((request.url ?? '').slice(path.length)).get('api-version');
  const fits = deploymentPath.test(path) || path.startsWith('/models/') ? version !== null : true;
  return fits ? null : openAiError(404, 'Resource not found', { code: '404' });
}

function failed({ fault, value }: Behaviour): SimulatedAnswer {
  const status = Number(fault);
  const answer = openAiError(status, `Simulated refusal with status ${status}.`, { code: String(status) });
  if (value === null) return answer;
  return { ...answer, headers: [...answer.headers, 'retry-after-ms', String(Number(value) * 1000)] };
}

const safe = { filtered: false, severity: 'safe' };
const verdicts = { hate: safe, self_harm: safe, sexual: safe, violence: safe };

function blocked(): SimulatedAnswer {
  return openAiError(
    400,
    "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
    {
      code: 'content_filter',
      param: 'prompt',
      status: 400,
      innererror: {
        code: 'ResponsibleAIPolicyViolation',
        content_filter_result: { ...verdicts, violence: { filtered: true, severity: 'medium' } },
      },
    },
  );
}

/** The filter's results for prompt and answer; in a stream, first of all a frame without choices. */
function filtered(answer: SimulatedAnswer): SimulatedAnswer {
  const prompt = [{ prompt_index: 0, content_filter_results: verdicts }];
  if (answer.status !== 200) return answer;
  if (Array.isArray(answer.body)) {
    const first = { choices: [], created: 0, id: '', model: '', object: '', prompt_filter_results: prompt };
    return { ...answer, body: [`data: ${JSON.stringify(first)}\n\n`, ...answer.body] };
  }
  const body = JSON.parse(String(answer.body)) as Json;
  const choices = (body['choices'] as Json[]).map((choice) => ({
    ...choice,
    content_filter_results: verdicts,
  }));
  return { ...answer, body: JSON.stringify({ ...body, choices, prompt_filter_results: prompt }) };
}

/** learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-client-creds-grant-flow */
function entraToken(tenant: string, form: URLSearchParams): SimulatedAnswer {
  const proof = form.get('client_secret') ?? form.get('client_assertion');
  if (form.get('grant_type') !== 'client_credentials' || proof === null || proof.startsWith('sk-invalid')) {
    return jsonAnswer(
      401,
      {
        error: 'invalid_client',
        error_description: 'AADSTS7000215: Invalid client secret provided.',
        error_codes: [7000215],
        trace_id: newId('', 36),
      },
      [],
    );
  }
  const token = `token-of-${tenant}-${form.get('client_id')}-${newId('', 8)}`;
  return jsonAnswer(
    200,
    { token_type: 'Bearer', expires_in: 3599, ext_expires_in: 3599, access_token: token },
    [],
  );
}
