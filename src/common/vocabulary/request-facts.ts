import type { HeaderList } from '../http/headers.js';

/** What conditions and sessions of a config go by: the part of an exchange that they may read. */
export interface RequestFacts {
  readonly request: {
    readonly path: string;
    readonly headers: HeaderList;
    readonly json: Readonly<Record<string, unknown>> | null;
  };
  readonly metadata: Readonly<Record<string, string>>;
  /** The model the client asked for. */
  readonly modelAsked: string | null;
}
