import type { AdminServices } from '../../../proto/messages.js';
import type { OwnIdentities } from '../../common/access/own-identity.js';
import type { EgressAllow } from '../../common/http/egress-allow.js';
import type { BreakerReport } from '../../common/ipc/breaker.js';
import type { Explained, ToExplain } from '../../common/ipc/explained.js';
import type { Forget } from '../../common/ipc/messages.js';
import type { LedgerAlerts } from '../../common/ledger/alerts.js';
import type { LedgerBudgets } from '../../common/ledger/budgets.js';
import type { LedgerFeedbacks } from '../../common/ledger/logs/feedback.js';
import type { LogWriter } from '../../common/ledger/logs/log-writer.js';
import type { LedgerReader } from '../../common/ledger/record.js';
import type { Logger } from '../../common/plugin-host/plugin.js';
import type { PriceBook } from '../../common/prices/pricing.js';
import type { Analytics } from '../analytics/question.js';
import type { LogExporter } from '../exports/exporter.js';
import type { Outbox } from '../mail/outbox.js';
import type { Store } from '../store/store.js';
import type { TokenChecker } from '../tokens/token-checker.js';
import type { Caller } from './access/caller.js';
import type { CheckedFetch } from './access/people/oidc/provider.js';

/** What the administration asks of the provider rows. */
export interface ProviderRows {
  has(name: string): boolean;
  names(): Iterable<string>;
  /** Has it no address of its own, so that one has to be stored? */
  needsAddress(name: string): boolean;
}

/** What the services lean on. */
export interface AdminParts {
  readonly store: Store;
  readonly ledger: LedgerReader;
  readonly feedbacks: LedgerFeedbacks;
  /** Takes requests that did not go through the gateway. */
  readonly logWriter: LogWriter;
  /** Graphs and groups of what the ledger has; where none is given, they are answered 503. */
  readonly analytics?: Analytics;
  /** Writes exports of logs; where none is given, they are answered 503. */
  readonly logExporter?: Pick<LogExporter, 'wake' | 'destination'>;
  /** What was used of budgets. */
  readonly budgets: LedgerBudgets;
  /** Resolves when the ledger has what this node has answered before, or soon does not get it; by default at once. */
  readonly answered?: () => Promise<void>;
  /** Alerts of budgets and anomalies; none unless given. */
  readonly alerts?: Pick<LedgerAlerts, 'list' | 'listAnomalies'>;
  /** Resolves when every data worker has forgotten these: only then is a write acknowledged. */
  changed(what: Forget[]): Promise<void>;
  /** Throws AB01 for a routing config that cannot be used. */
  validateConfig(text: string): void | Promise<void>;
  readonly providers: ProviderRows;
  /** Circuit breakers that are not closed, of a workspace or of all; none are known unless given. */
  readonly breakers?: { list(organisation: string, workspace: string | null): readonly BreakerReport[] };
  /** What models cost; the built-in prices unless given. */
  readonly pricing?: Pick<PriceBook, 'quoteOf'>;
  /** A data worker's explanation of a request; null (the default): no worker can give one. */
  explain?(asked: ToExplain): Promise<Explained | null>;
  /** Checks JSON web tokens; where none is given, they are refused like unknown keys. */
  readonly tokens?: Pick<TokenChecker, 'find' | 'changes' | 'refresh' | 'onRemoved'>;
  /** Why key sets may not be fetched from there; null (the default): they may. */
  readonly keyServerProblem?: (url: string) => string | null;
  /** Requests to OpenID Connect providers; where none is given, sign-in by them is refused. */
  readonly fetchChecked?: CheckedFetch;
  /** Who may store credentials that sign in as the gateway itself; by default no one. */
  readonly ownIdentities?: OwnIdentities;
  /** Link-local and metadata addresses that may be stored all the same; none unless given. */
  readonly egressAllow?: EgressAllow;
  /** Takes mails, in the unit of work of what they report; closed unless given. */
  readonly outbox?: Outbox;
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
 * when the client has disconnected.
 */
export type Service<Name extends ServiceName> = Methods<AdminServices[Name]>;
