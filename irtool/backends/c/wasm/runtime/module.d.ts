/*
@BANNER@
 */

/** A tensor with its shape, where a run decides it. */
export interface Tensor<Data> { data: Data; shape: readonly number[] }

/** The name, the dtype and the shape of a tensor; an extent that a run decides is its formula. */
export interface Description { name: string; dtype: string; shape: readonly (number | string)[] }

export declare const inputs: readonly Description[];
export declare const outputs: readonly Description[];
/** The levels of instructions that there are modules for, the highest first. */
export declare const levels: readonly string[];

@TYPES@

type Source = string | URL | Response | ArrayBuffer | ArrayBufferView;

export interface LoadOptions {
  /** The module: an address, a response, its bytes, or compiled; by default the file beside this one. */
  wasm?: Source | WebAssembly.Module;
  /** The weights file, where the module does not contain it. */
  weights?: Source;
  /** The highest level of instructions that may be used. */
  level?: string;
}

export declare function load(options?: LoadOptions): Promise<Network>;

/** An error of a run or of its arguments; `code` is the number that the compiled function returned. */
export declare class NetworkError extends Error { code: number }

export declare class Network {
  private constructor();
  /** Another instance, with a memory of its own and the same weights. */
  another(): Promise<Network>;
  /** The bytes of memory of this instance. */
  readonly memoryBytes: number;
@METHODS@
}
