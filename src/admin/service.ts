import type { AdminServices } from '../../proto/messages.js';
import type { BreakerReport } from '../core/breaker.js';
import type { Explained, ToExplain } from '../core/explained.js';
import type { Forget } from '../core/messages.js';
import type { OwnIdentities } from '../core/own-identity.js';
import type { Logger } from '../core/plugin.js';
import type { LedgerReader } from '../ledger/record.js';
import type { Store } from '../store/store.js';
import type { Caller } from './caller.js';

/** What the services lean on. */
export interface AdminParts {
  readonly store: Store;
  readonly ledger: LedgerReader;
  /** Resolves when every data worker has forgotten these: only then is a write acknowledged. */
  changed(what: Forget[]): Promise<void>;
  /** Throws AB01 for a routing config that cannot be used. */
  validateConfig(text: string): void | Promise<void>;
  /** Is this the name of a provider row? */
  isProvider(name: string): boolean;
  /** Circuit breakers that are not closed, of a workspace or of all; none are known unless given. */
  readonly breakers?: { list(organisation: string, workspace: string | null): readonly BreakerReport[] };
  /** What a data worker says would become of a request; null, and so unless given: none can tell. */
  explain?(asked: ToExplain): Promise<Explained | null>;
  /** Who may store credentials that sign in as the gateway itself; nobody unless given. */
  readonly ownIdentities?: OwnIdentities;
  /** URL under which clients reach the gateway, without a slash at its end. */
  readonly publicUrl?: string;
  readonly log: Logger;
}

export type ServiceName = keyof AdminServices;

type Methods<S> = {
  [M in keyof S]: S[M] extends [infer Request, infer Response]
    ? (
        caller: Caller,
        request: Request,
        gone: AbortSignal,
      ) => Response extends AsyncIterable<unknown> ? Response : Promise<Response>
    : never;
};

/**
 * One service's methods. The caller is known and holds a scope of the method's when one of them runs. `gone` is aborted
 * when nobody waits for the answer any more.
 */
export type Service<Name extends ServiceName> = Methods<AdminServices[Name]>;
