import { isHeaderName, isHeaderValue } from '../../common/http/headers.js';
import type { Forget, LookupKind, LookupRecords } from '../../common/ipc/messages.js';
import type {
  MappedField,
  PartnerRecord,
  ProviderRecord,
  SecretReferenceRecord,
  UnresolvedField,
} from '../../common/ipc/records.js';
import { isJsonObject } from '../../common/json/json.js';
import type { FetchedSecret } from './secret-source.js';
import type { SecretValue } from './secret-values.js';

/** Source of the values. */
interface Values {
  get(reference: SecretReferenceRecord, dependant: Forget): Promise<SecretValue>;
}

/** May this reference sign in the way it is configured to? null: yes; else the reason, as the end of a sentence. */
export type OwnIdentityCheck = (reference: SecretReferenceRecord) => string | null;

/** Puts the values of secret references into the records that data workers get. */
export class MappedValues {
  constructor(
    readonly values: Values,
    readonly refusal: OwnIdentityCheck,
  ) {}

  /** A record without mappings is returned unchanged. */
  async fill<K extends LookupKind>(
    kind: K,
    workspace: string | null,
    name: string,
    record: LookupRecords[K] | null,
  ): Promise<LookupRecords[K] | null> {
    if (record === null || (kind !== 'provider' && kind !== 'partner')) return record;
    const { mapped, ...rest } = record as ProviderRecord | PartnerRecord;
    if (mapped === undefined) return record;
    const dependant: Forget = { kind, workspace, name };
    const isForeign = 'hostTrusted' in rest && hasForeignHost(rest as ProviderRecord);
    const fetched = await Promise.all(
      mapped.map((field) => (isForeign ? foreign(field) : this.text(field, dependant))),
    );
    const unresolved: UnresolvedField[] = [];
    const texts: [field: string, text: string][] = [];
    for (const [i, { field }] of mapped.entries()) {
      const found = fetched[i]!;
      if (typeof found === 'string') texts.push([field, found]);
      else unresolved.push(found);
    }
    const filled =
      kind === 'provider'
        ? withProviderValues({ ...(rest as ProviderRecord), unresolved, isMapped: true }, mapped, texts)
        : withPartnerValues({ ...(rest as PartnerRecord), unresolved }, mapped, texts);
    return filled as LookupRecords[K];
  }

  /** The value of one field, or why it has none. */
  async text(field: MappedField, dependant: Forget): Promise<string | UnresolvedField> {
    const { reference, named } = field;
    if (reference === null || !reference.isAllowed)
      return missing(
        field,
        `is mapped to the secret reference ${named}, which ${reference === null ? 'is not there any more' : 'this workspace may not use'}: have the mapping changed, or the workspace allowed.`,
      );
    const refused = this.refusal(reference);
    if (refused !== null)
      return missing(field, `is mapped to the secret reference ${reference.slug}, which ${refused}`);
    const value = await this.values.get(reference, dependant);
    if (value.secret === undefined)
      return {
        field: field.field,
        code: 'secret_unavailable',
        message: `is mapped to the secret reference ${reference.slug}, which has no value: ${value.failure}. Try again shortly, or have an administrator check it (headgate secret-references get ${reference.slug}).`,
      };
    const text = pick(value.secret, field.secretKey ?? reference.secretKey, field.isJson);
    if (typeof text === 'string') {
      const fault = faultOf(field.field, text);
      if (fault === null) return text;
      return missing(field, `is mapped to the secret reference ${reference.slug}, whose value ${fault}`);
    }
    return missing(field, `is mapped to the secret reference ${reference.slug}, ${text.problem}`);
  }
}

const missing = ({ field }: MappedField, message: string): UnresolvedField => ({
  field,
  code: 'provider_credential_missing',
  message,
});

/** An address that a workspace has set must not receive a secret of the organisation. */
const hasForeignHost = ({ hostTrusted, baseUrl, fields }: ProviderRecord): boolean =>
  !hostTrusted && (baseUrl !== null || fields['azure_foundry_url'] !== undefined);

const foreign = async (field: MappedField): Promise<UnresolvedField> =>
  missing(
    field,
    `is mapped to the secret reference ${field.named}, which is not sent to an address that a key of a workspace has set: have an administrator set it.`,
  );

/** One text of a secret; or what is wrong, as the end of a sentence that contains nothing of the secret. */
function pick(
  secret: FetchedSecret,
  key: string | null,
  isJson: boolean,
): string | { readonly problem: string } {
  let found: unknown = secret;
  if (key !== null) {
    const values = typeof secret === 'string' ? parsed(secret) : secret;
    if (!isJsonObject(values))
      return { problem: `whose value is not a JSON object: leave secret_key out, it is ${quoted(key)}.` };
    if (!Object.hasOwn(values, key))
      return { problem: `whose value has no ${quoted(key)}: check secret_key.` };
    found = values[key];
  } else if (typeof secret !== 'string') {
    // Of a secret with a single field, that field is the value.
    const all = Object.values(secret);
    found = all.length === 1 && !isJson ? all[0] : secret;
  }
  if (found === null || found === undefined) return { problem: 'whose value is null: check secret_key.' };
  if (typeof found !== 'string') return JSON.stringify(found);
  if (!isJson) return found;
  const value = parsed(found);
  if (value === undefined)
    return { problem: 'whose value is not JSON, as value_format json has it: use string.' };
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const quoted = (key: string): string => JSON.stringify(key.slice(0, 80));

/** undefined: it is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Why a text cannot be this field, the end of a sentence; null: it can. */
function faultOf(field: string, text: string): string | null {
  if (text.trim() === '') return 'is empty: store one, or check secret_key.';
  if (field === 'custom_headers') return headersIn(text) === null ? 'is not a JSON object of headers.' : null;
  if (field === 'custom_host' || field === 'huggingface_base_url' || field === 'azure_foundry_url')
    return /^https?:\/\/[^\s/@?#]+[^\s?#]*$/.test(text.trim()) ? null : 'is not an http:// or https:// URL.';
  // These are sent as headers. Keys of other kinds have several lines.
  const isLine = field === 'key' || field.endsWith('_token') || field.endsWith('_id');
  return isLine && /[\0\r\n]/.test(text.trim()) ? 'has more than one line: check secret_key.' : null;
}

/** Names in lower case, each followed by its value; null: they are no headers. */
function headersIn(text: string): string[] | null {
  const given = parsed(text);
  if (!isJsonObject(given)) return null;
  const headers: string[] = [];
  for (const [name, value] of Object.entries(given)) {
    if (typeof value !== 'string' || !isHeaderName(name) || !isHeaderValue(value)) return null;
    headers.push(name.toLowerCase(), value);
  }
  return headers;
}

function withProviderValues(
  record: ProviderRecord,
  mapped: readonly MappedField[],
  texts: readonly (readonly [string, string])[],
): ProviderRecord {
  // A mapped field never falls back to a stored value, even if its secret could not be fetched.
  const filled: ProviderRecord = { ...record, secrets: { ...record.secrets }, fields: { ...record.fields } };
  for (const { field } of mapped) {
    delete filled.secrets[field];
    delete filled.fields[field];
    if (field === 'key') filled.credential = null;
    else if (field === 'custom_headers') filled.headers = [];
  }
  for (const [field, text] of texts) {
    if (field === 'key') filled.credential = text.trim();
    else if (field === 'custom_headers') filled.headers = headersIn(text) ?? [];
    else if (field === 'custom_host') filled.baseUrl = text.trim().replace(/\/+$/, '');
    else {
      filled.secrets[field] = text.trim();
      if (field === 'huggingface_base_url') filled.baseUrl ??= text.trim().replace(/\/+$/, '');
    }
  }
  return filled;
}

function withPartnerValues(
  record: PartnerRecord,
  mapped: readonly MappedField[],
  texts: readonly (readonly [string, string])[],
): PartnerRecord {
  const credentials = { ...record.credentials };
  for (const { field } of mapped) delete credentials[field];
  for (const [field, text] of texts) credentials[field] = text.trim();
  return { ...record, credentials };
}
