import { isHeaderValue } from '../../../common/http/headers.js';
import { OciAuthorizer } from '../auth/oci.js';
import type { ProviderDefinition, RowCall } from '../provider.js';
import { missing } from './azure-fields.js';

/**
 * Oracle's Generative AI by its OpenAI-compatible endpoint: with an API key of that service as a bearer, or signed with
 * a user's key. Models on dedicated clusters have addresses of their own: give theirs as the base URL.
 */
export const oracle: ProviderDefinition = {
  name: 'oracle',
  base: 'https://inference.generativeai.us-chicago-1.oci.oraclecloud.com/openai/v1',
  auth: { kind: 'per-call', authorizer: new OciAuthorizer() },
  paths: { 'openai-chat': '/chat/completions', 'openai-responses': '/responses' },
  forCall,
  source: 'https://docs.oracle.com/en-us/iaas/Content/generative-ai/openai-compatible-api.htm',
};

/** They become part of an address. */
const regionName = /^[a-z]{2}-[a-z]{2,20}-\d{1,2}$/;
const versionName = /^\d{8}$/;

function forCall({ hasBase, fields }: RowCall): ProviderDefinition {
  const mode = fields.get('oracle_serving_mode');
  if (mode !== null && !/^on_demand$/i.test(mode) && !hasBase)
    throw missing(
      'oracle_serving_mode',
      'must be ON_DEMAND: give the address of a dedicated cluster as its base URL.',
    );
  const compartment = fields.get('oracle_compartment_id');
  if (compartment !== null && !isHeaderValue(compartment))
    throw missing('oracle_compartment_id', 'must be the OCID of a compartment.');
  const row: ProviderDefinition =
    compartment === null ? oracle : { ...oracle, headers: { 'opc-compartment-id': compartment } };
  if (hasBase) return row;
  const region = fields.get('oracle_region');
  if (region === null) throw missing('oracle_region', 'is missing: say where, as in us-chicago-1.');
  if (!regionName.test(region))
    throw missing('oracle_region', 'must be the name of a region, as in us-chicago-1.');
  const version = fields.get('oracle_version');
  if (version !== null && !versionName.test(version))
    throw missing('oracle_version', 'must be the version of the API as a date, as in 20231130.');
  const path = version === null ? 'openai/v1' : `${version}/actions/v1`;
  return { ...row, base: `https://inference.generativeai.${region}.oci.oraclecloud.com/${path}` };
}
