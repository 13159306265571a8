import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  exportJWK,
  type GenerateKeyPairResult,
  generateKeyPair,
  type JWK,
  type JWTHeaderParameters,
  SignJWT,
} from 'jose';

export interface IssuerKey {
  readonly kid: string;
  readonly alg: string;
  readonly pair: GenerateKeyPairResult;
  /** As a key set has it. */
  readonly jwk: JWK;
}

export async function makeIssuerKey(kid: string, alg = 'RS256'): Promise<IssuerKey> {
  const pair = await generateKeyPair(alg, { extractable: true });
  const jwk = { ...(await exportJWK(pair.publicKey)), kid, alg, use: 'sig' };
  return { kid, alg, pair, jwk };
}

export const nowS = (): number => Math.floor(Date.now() / 1000);

/** A token for an hour, unless the claims have another `exp`. `undefined` takes a claim or a member of the head away. */
export function signToken(
  key: IssuerKey,
  claims: Readonly<Record<string, unknown>>,
  head: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const payload = { iat: nowS(), exp: nowS() + 3600, ...claims };
  const header = { alg: key.alg, kid: key.kid, typ: 'JWT', ...head } as JWTHeaderParameters;
  return new SignJWT(JSON.parse(JSON.stringify(payload)))
    .setProtectedHeader(JSON.parse(JSON.stringify(header)))
    .sign(key.pair.privateKey);
}

/** A server of a key set, whose keys and manners the test changes. */
export class KeyServer {
  keys: readonly JWK[] = [];
  /** How often it was asked. */
  asked = 0;
  /** Answers in place of the key set; null: the key set. */
  answer: ((request: IncomingMessage, response: ServerResponse) => void) | null = null;
  readonly #server = createServer((request, response) => {
    this.asked += 1;
    if (this.answer !== null) return this.answer(request, response);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ keys: this.keys }));
  });

  async start(): Promise<this> {
    await new Promise<void>((listening) => this.#server.listen(0, '127.0.0.1', listening));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/keys`;
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((closed) => this.#server.close(() => closed()));
  }
}
