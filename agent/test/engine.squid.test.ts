// The Squid engine, by the scenarios that every engine must pass.
import { engineScenarios } from './scenarios.ts';
import { startSquidNode } from './squid_node.ts';

engineScenarios('the Squid engine', startSquidNode);
