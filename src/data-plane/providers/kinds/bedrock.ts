import { GatewayError } from '../../../common/core/errors.js';
import { AwsAuthorizer, awsRegion } from '../auth/aws.js';
import { awsDomain } from '../auth/aws-sts.js';
import { bareModelId } from '../formats/bedrock-models.js';
import type { ProviderDefinition, RowCall } from '../provider.js';

const auth = { kind: 'per-call', authorizer: new AwsAuthorizer('bedrock') } as const;

/** The model is in the path, and the region in the host. */
export const bedrock: ProviderDefinition = {
  name: 'bedrock',
  base: 'https://bedrock-runtime.us-east-1.amazonaws.com',
  auth,
  paths: { 'bedrock-converse': '/model', 'bedrock-embeddings': '/model' },
  forCall,
  source:
    'https://docs.aws.amazon.com/bedrock/latest/APIReference/API_Operations_Amazon_Bedrock_Runtime.html',
};

function forCall({ format, model, streaming, fields }: RowCall): ProviderDefinition {
  const region = awsRegion(fields, model);
  const base = `https://bedrock-runtime.${region}.${awsDomain(region)}`;
  if (format === 'none') return { ...bedrock, base };
  if (model === null) {
    throw new GatewayError('invalid_request', 'model is missing: Bedrock has it in its address.', {
      param: 'model',
    });
  }
  // An id may be a whole ARN, with colons and slashes.
  const path = `/model/${encodeURIComponent(model)}`;
  return {
    ...bedrock,
    base,
    paths: {
      'bedrock-converse': `${path}/${streaming ? 'converse-stream' : 'converse'}`,
      'bedrock-embeddings': `${path}/invoke`,
      ...countPath(model),
    },
  };
}

/**
 * Only Claude's tokens are counted, and by the id of the model: the same model's inference profile "doesn't support counting
 * tokens".
 */
function countPath(model: string): ProviderDefinition['paths'] {
  const bare = bareModelId(model);
  if (!bare.startsWith('anthropic.claude')) return {};
  return { 'bedrock-count-tokens': `/model/${encodeURIComponent(bare)}/count-tokens` };
}
