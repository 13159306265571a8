import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';

/** A person whom the provider signs in, without asking. */
export interface Account {
  readonly sub: string;
  readonly email?: string;
  readonly email_verified?: boolean;
  readonly [claim: string]: unknown;
}

export interface OidcServer {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Who signs in next. */
  account: Account;
  /** Answers a request in place of the provider, where it returns true. */
  instead: ((request: IncomingMessage, response: ServerResponse) => boolean) | null;
  /** Paths that were asked for. */
  readonly asked: string[];
  /** Opens the provider's page as a browser does, and returns where the browser is sent to at last. */
  approve(url: string): Promise<string>;
  close(): Promise<void>;
}

/** Starts the package `oidc-provider`, with one client. `authMethod`: how that client authenticates. */
export async function startOidcProvider(
  redirectUri: string,
  authMethod = 'client_secret_basic',
): Promise<OidcServer> {
  let provider: Provider | null = null;
  const server: Server = createServer((request, response) => {
    started.asked.push(request.url ?? '');
    if (started.instead?.(request, response) === true) return;
    if (request.url?.startsWith('/interaction/'))
      void interact(provider!, request, response, started.account);
    else void provider!.callback()(request, response);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const started: OidcServer = {
    issuer,
    clientId: 'headgate',
    clientSecret: 'a secret of the client, only here',
    account: { sub: 'nobody' },
    instead: null,
    asked: [],
    approve: (url) => walked(issuer, url),
    close: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  provider = new Provider(issuer, {
    clients: [
      {
        client_id: started.clientId,
        client_secret: started.clientSecret,
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: authMethod as 'client_secret_basic',
      },
    ],
    pkce: { required: () => true },
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['given_name', 'family_name', 'groups'],
    },
    findAccount: (_context, id) => ({ accountId: id, claims: () => started.account }),
    interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
    features: { devInteractions: { enabled: false } },
    cookies: { keys: ['only for tests'] },
    jwks: undefined,
  });
  return started;
}

async function interact(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
  { sub }: Account,
): Promise<void> {
  const { prompt, params, session } = await provider.interactionDetails(request, response);
  if (prompt.name === 'login')
    return provider.interactionFinished(request, response, { login: { accountId: sub } });
  const grant = new provider.Grant({ accountId: session!.accountId, clientId: String(params['client_id']) });
  grant.addOIDCScope('openid email profile');
  const grantId = await grant.save();
  return provider.interactionFinished(
    request,
    response,
    { consent: { grantId } },
    { mergeWithLastSubmission: true },
  );
}

/** Follows redirections within the provider, with its cookies. */
async function walked(issuer: string, url: string): Promise<string> {
  const cookies = new Map<string, string>();
  let at = url;
  for (let steps = 0; at.startsWith(issuer) && steps < 10; steps++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(at, { redirect: 'manual', headers: { cookie } });
    for (const line of answer.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
    }
    const location = answer.headers.get('location');
    if (location === null) throw new Error(`${at}: ${answer.status} ${await answer.text()}`);
    at = new URL(location, at).href;
  }
  return at;
}
