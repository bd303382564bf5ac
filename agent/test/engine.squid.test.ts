// The Squid engine, by the scenarios that every engine must pass.
import { engineScenarios } from './scenarios/engine_scenarios.ts';
import { addIpv6, ipv4, ipv6 } from './scenarios/family.ts';
import { startSquidNode } from './squid_node.ts';

addIpv6();
engineScenarios('the Squid engine', startSquidNode, ipv4, ipv6);
