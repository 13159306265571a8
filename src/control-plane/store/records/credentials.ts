import type { Secret } from '../../../common/access/secret.js';

/** Takes a part of a credential from a secret reference. */
export interface SecretMapping {
  /** `key`, or `configurations.<field>`, of a virtual key `model_config.<field>`. */
  readonly targetField: string;
  readonly secretReferenceId: string;
  readonly secretKey: string | null;
  readonly valueFormat: 'json' | 'string' | null;
}

/** What a provider is called with, as it may be shown. */
export interface Credentials {
  readonly maskedKey: string | null;
  /** By the field names of the proto files; a secret is `masked_<field>`. */
  readonly configurations: Readonly<Record<string, unknown>>;
  readonly secretMappings: readonly SecretMapping[];
}

/** Everything that a provider needs beside its key, replaced as a whole. */
export interface NewConfigurations {
  readonly shown: Readonly<Record<string, unknown>>;
  /** Secret fields with their values, JSON text of an object; null: none. */
  readonly secrets: Secret | null;
  /** Secret fields that stay as they were sealed. */
  readonly kept: readonly string[];
}

/** Absent: stays as it is. */
export interface CredentialsChange {
  readonly key?: Secret | null;
  readonly configurations?: NewConfigurations;
  readonly secretMappings?: readonly SecretMapping[];
}
