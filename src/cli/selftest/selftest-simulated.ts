import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ProviderInput } from '../../client/index.js';
import { CliError } from '../cli-error.js';
import type { Tested, TestedGateway } from './selftest-checks.js';

/** A provider as it is stored for the test, and what to ask it for. */
interface Simulated {
  /** Path after the simulated provider's address. */
  readonly base: string;
  readonly input: Omit<ProviderInput, 'slug'> & { readonly provider: string };
  readonly model: string;
  readonly embeddingModel: string | null;
  readonly rerankModel: string | null;
}

const of = (
  provider: string,
  base: string,
  model: string,
  embeddingModel: string | null,
  { rerankModel, ...more }: Partial<ProviderInput> & { readonly rerankModel?: string } = {},
): Simulated => ({
  base,
  input: { provider, key: 'sk-simulated', ...more },
  model,
  embeddingModel,
  rerankModel: rerankModel ?? null,
});

/** Every wire format once, and the rows with names of their own. */
const simulated = (aws: { accessKeyId: string; secretAccessKey: string }): readonly Simulated[] => [
  of('openai', '/v1', 'gpt-4o-mini', 'text-embedding-3-small'),
  of('azure-openai', '/openai/v1', 'gpt-4o-mini', 'text-embedding-3-small'),
  of('azure-ai', '/models', 'gpt-4o-mini', 'text-embedding-3-small'),
  of('anthropic', '/v1', 'claude-sonnet-4-5', null),
  of('google', '/v1beta', 'gemini-2.5-flash', 'gemini-embedding-001', { key: 'AIza-simulated' }),
  of('bedrock', '', 'anthropic.claude-sonnet-4-5-20250929-v1:0', 'amazon.titan-embed-text-v2:0', {
    key: undefined,
    aws_auth_type: 'accessKey',
    aws_region: 'us-east-1',
    aws_access_key_id: aws.accessKeyId,
    aws_secret_access_key: aws.secretAccessKey,
  }),
  of('vertex-ai', '/v1', 'gemini-2.5-flash', 'text-embedding-005', {
    key: 'ya29.simulated',
    vertex_project_id: 'simulated',
    vertex_region: 'us-central1',
  }),
  of('cohere', '/v2', 'command-a-03-2025', 'embed-v4.0', { rerankModel: 'rerank-v3.5' }),
  of('mistral-ai', '/v1', 'mistral-small-latest', 'mistral-embed'),
  of('deepseek', '/v1', 'deepseek-chat', null),
];

/** A gateway of its own in front of a simulated provider, for as long as `work` takes. Nothing of it stays. */
export async function withSimulated(
  work: (gateway: TestedGateway, tested: readonly Tested[]) => Promise<void>,
): Promise<void> {
  const [{ startSimulated }, { awsKeys }, { connectAdmin }] = await Promise.all([
    import('../../simulated/index.js'),
    import('../../simulated/aws/aws-auth.js'),
    import('../../client/index.js'),
  ]);
  const upstream = await startSimulated();
  const dataDir = await mkdtemp(join(tmpdir(), 'headgate-selftest-'));
  const [port, grpcPort, opsPort] = await freePorts();
  let child: ChildProcess | null = null;
  try {
    child = await serve(dataDir, { PORT: port, GRPC_PORT: grpcPort, OPS_PORT: opsPort });
    const keys = JSON.parse(await readFile(join(dataDir, 'first-keys.json'), 'utf8')) as Record<
      string,
      string
    >;
    const admin = connectAdmin({ address: `127.0.0.1:${grpcPort}`, key: keys['admin_key'] ?? '' });
    const tested: Tested[] = [];
    try {
      for (const { base, input, model, embeddingModel, rerankModel } of simulated(awsKeys)) {
        await admin.providers.create({ ...input, slug: input.provider, base_url: upstream.url + base });
        tested.push({ provider: `@${input.provider}`, model, embeddingModel, rerankModel });
      }
    } finally {
      admin.close();
    }
    await work({ url: `http://127.0.0.1:${port}`, key: keys['workspace_key'] ?? '' }, tested);
  } finally {
    await end(child);
    await upstream.close();
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** Settings of the machine, and files of this folder, are not for this gateway: it gets an environment of its own. */
function serve(dataDir: string, ports: Readonly<Record<string, number | undefined>>): Promise<ChildProcess> {
  const env: Record<string, string> = {
    HEADGATE_HOST: '127.0.0.1',
    HEADGATE_DATA_DIR: dataDir,
    HEADGATE_WORKERS: '1',
    HEADGATE_EGRESS_ALLOW: '127.0.0.1',
  };
  for (const [name, port] of Object.entries(ports)) env[`HEADGATE_${name}`] = String(port);
  const main = process.argv[1] ?? '';
  const child = spawn(process.execPath, [main, 'serve'], {
    cwd: dataDir,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  return new Promise((ready, failed) => {
    const onOutput = (text: Buffer): void => {
      output += text.toString();
      if (output.includes('is ready at')) ready(child);
    };
    child.stdout.on('data', onOutput);
    child.stderr.on('data', onOutput);
    child.once('error', failed);
    child.once('exit', () =>
      failed(new CliError(`A gateway for the test did not start: ${output.trim().slice(-500)}`)),
    );
  });
}

function end(child: ChildProcess | null): Promise<void> {
  if (child === null || child.exitCode !== null) return Promise.resolve();
  return new Promise((ended) => {
    child.once('exit', () => ended());
    child.kill('SIGTERM');
  });
}

async function freePorts(): Promise<number[]> {
  const servers = await Promise.all(
    [1, 2, 3].map(
      () =>
        new Promise<ReturnType<typeof createServer>>((listening) => {
          const server = createServer().listen(0, '127.0.0.1', () => listening(server));
        }),
    ),
  );
  const ports = servers.map((server) => {
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  });
  await Promise.all(servers.map((server) => new Promise((closed) => server.close(closed))));
  return ports;
}
