import { CliError } from './cli-error.js';
import { portProblem, tryPort } from './ports.js';

/** Starts the simulated provider on its own and tells a person how to use it. It stops by signal. */
export async function simulate(host: string, portText: string): Promise<void> {
  const port = Number(portText);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new CliError(`--port: must be a number from 0 to 65535, not ${portText}.`, 2);
  }
  const taken = port === 0 ? null : await tryPort(host, port);
  if (taken !== null) throw new CliError(portProblem(host, port, '--port', taken));
  const { startSimulated } = await import('../../test/support/simulated/index.js');
  const provider = await startSimulated({ host, port });
  console.log(provider.url);
}
