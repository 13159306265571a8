import type { Message } from '../../../../../proto/codec.js';
import type { AdminMethod, Binding } from '../../../../../proto/tree.js';
import { AdminError } from '../../admin-error.js';
import { messageJson } from '../../grpc/message-bytes.js';
import { bind, bindValid, rawField } from '../bind.js';
import { refusalOf } from '../refusal.js';
import type { RestAnswer } from '../request.js';
import { isScimPath } from '../scim-form.js';
import { flowOf, ownParameters, signedInPage, toProvider } from './oidc-redirects.js';
import type { RestForm, RoutedRequest } from './rest-form.js';
import { scimAnswer, scimQuery } from './scim-answer.js';
import { cookieOf, isForeign, removedCookie, withoutToken } from './session-cookie.js';
import { statusRefusalOf } from './status-refusal.js';

const bound = ({ method, binding, captured, request }: RoutedRequest): Message =>
  bind(method, binding, captured, request);

const withQuery = (routed: RoutedRequest, query: string): RoutedRequest => ({
  ...routed,
  request: { ...routed.request, query },
});

export const fileType = (file: Message): string => String(file['content_type'] || 'application/octet-stream');

/** JSON in the specification's own form; a file as it is. */
const usual: RestForm = {
  read: bound,
  readValid: ({ method, binding, captured, request }) => bindValid(method, binding, captured, request),
  async answer({ method }, response) {
    if (method.response.name === 'HttpBody')
      return { status: 200, headers: ['content-type', fileType(response)], body: bytesOf(response) };
    return jsonAnswer(method, response);
  },
};

const bytesOf = (file: Message): Buffer => Buffer.from(file['data'] as Uint8Array);

async function jsonAnswer(
  method: AdminMethod,
  response: Message,
  more: readonly string[] = [],
): Promise<RestAnswer> {
  const headers = ['content-type', 'application/json', ...more];
  const { etag } = response;
  if (typeof etag === 'string') headers.push('etag', `"${etag}"`);
  return { status: 200, headers, body: await messageJson(method.response, response) };
}

/** SCIM's own media type, statuses and parameters of the query (RFC 7644). */
const scim: RestForm = {
  read: (routed) => bound(withQuery(routed, scimQuery(routed.method.request, routed.request.query))),
  answer: ({ method, binding, request }, response) => scimAnswer(method, binding, response, request),
};

/** Bodies that are not this plane's JSON, as those of OTLP: their clients read errors as `google.rpc.Status`. */
const raw: RestForm = {
  ...usual,
  refusal: ({ request }, error, requestId) => statusRefusalOf(error, request, requestId),
};

/** A session begins: its token is not in the body but in a cookie that no script can read. */
const signIn: RestForm = {
  read(routed) {
    if (isForeign(routed.request.headers))
      throw new AdminError('AB03', 'Another site made this request: it was refused.');
    return bound(routed);
  },
  answer: ({ method, isSecure }, response) =>
    jsonAnswer(method, withoutToken(response), cookieOf(response, isSecure)),
};

/** The session that calls ends, and its cookie goes. */
const ending: RestForm = {
  read: bound,
  answer: ({ method, isSecure }, response) => jsonAnswer(method, response, removedCookie(isSecure)),
};

/** The browser is sent to the provider of OpenID Connect. */
const startOidc: RestForm = {
  read: bound,
  answer: ({ isSecure }, response) => toProvider(response, isSecure),
};

/** The browser comes back from it, with a flow in a cookie, and sees a page. */
const finishOidc: RestForm = {
  read: (routed) => ({
    ...bound(withQuery(routed, ownParameters(routed.request.query))),
    flow: flowOf(routed.request, routed.isSecure),
  }),
  answer: ({ isSecure }, response) => signedInPage(response, cookieOf(response, isSecure), isSecure),
};

/** The specification has its errors as `{error}`, a text; those of the plane come with it. */
const pricing: RestForm = {
  ...usual,
  refusal: ({ request }, error, requestId) => refusalOf(error, request, requestId, { error: error.message }),
};

const byMethod: Readonly<Record<string, RestForm>> = {
  'Auth.SignIn': signIn,
  'Auth.SignOut': ending,
  'Auth.UpdatePassword': ending,
  'Auth.StartOidc': startOidc,
  'Auth.FinishOidc': finishOidc,
  'Models.GetModelPricing': pricing,
};

/** The form of a method at one of its paths. */
export function formOf(method: AdminMethod, binding: Binding): RestForm {
  const own = byMethod[method.name];
  if (own !== undefined) return own;
  if (isScimPath(binding.path)) return scim;
  return rawField(method, binding) === null ? usual : raw;
}
