// The part of WASI (preview 1) that CPython calls, on files in memory.
//
// A file is { bytes } and a folder is { entries: Map }. Calls that are not implemented here, such as those of sockets, return ENOSYS.

const SUCCESS = 0, EBADF = 8, EEXIST = 20, EINVAL = 28, EISDIR = 31, ENOENT = 44, ENOSYS = 52, ENOTDIR = 54, ENOTEMPTY = 55;
const CHARACTER_DEVICE = 2, DIRECTORY = 3, REGULAR_FILE = 4;
const O_CREAT = 1, O_DIRECTORY = 2, O_EXCL = 4, O_TRUNC = 8, APPEND = 1;
const ALL_RIGHTS = (1n << 30n) - 1n;
const FIRST_FREE = 4; // 0 to 2 are the streams, 3 is the root

/** The exit of the program, thrown by proc_exit. */
export class Exit extends Error {
  constructor(code) {
    super(`the program ended with code ${code}`);
    this.code = code;
  }
}

/** A tree of files in memory. Paths are absolute, with `/` between names. */
export class Files {
  #inodes = 1;

  constructor() {
    this.root = this.#node({ entries: new Map() });
  }

  #node(content) {
    return { ...content, inode: this.#inodes++ };
  }

  /** The node at a path below a folder, or undefined. */
  find(path, folder = this.root) {
    let node = folder;
    for (const name of path.split("/")) {
      if (name === "" || name === ".") continue;
      node = node?.entries?.get(name);
    }
    return node;
  }

  /** The folder of a path and the last name of the path. */
  locate(path, folder = this.root) {
    const names = path.split("/").filter((name) => name !== "" && name !== ".");
    const last = names.pop() ?? "";
    return { folder: this.find(names.join("/"), folder), name: last };
  }

  /** Adds a file, with the folders above it. */
  write(path, bytes) {
    let folder = this.root;
    const names = path.split("/").filter((name) => name !== "");
    for (const name of names.slice(0, -1)) {
      if (!folder.entries.has(name)) folder.entries.set(name, this.#node({ entries: new Map() }));
      folder = folder.entries.get(name);
    }
    folder.entries.set(names.at(-1), this.#node({ bytes }));
  }

  make(folder, name, content) {
    const node = this.#node(content);
    folder.entries.set(name, node);
    return node;
  }
}

/** The imports of a module: `files` is the tree at `/`, `write(stream, text)` receives what the program prints. */
export function imports({ files, args, environment, write, memory }) {
  const text = new TextEncoder();
  const decoders = { 1: new TextDecoder(), 2: new TextDecoder() };
  const view = () => new DataView(memory().buffer);
  const bytes = (start, length) => new Uint8Array(memory().buffer, start, length);
  const string = (start, length) => new TextDecoder().decode(bytes(start, length).slice());
  const opened = new Map([[3, { node: files.root, position: 0, flags: 0 }]]);
  const vectors = (start, count) => {
    const v = view();
    return Array.from({ length: count }, (_, i) => [v.getUint32(start + 8 * i, true), v.getUint32(start + 8 * i + 4, true)]);
  };

  function strings(values, pointers, buffer) {
    const v = view();
    for (const value of values) {
      v.setUint32(pointers, buffer, true);
      pointers += 4;
      const encoded = text.encode(value + "\0");
      bytes(buffer, encoded.length).set(encoded);
      buffer += encoded.length;
    }
    return SUCCESS;
  }

  function sizes(values, count, length) {
    view().setUint32(count, values.length, true);
    view().setUint32(length, values.reduce((sum, value) => sum + text.encode(value + "\0").length, 0), true);
    return SUCCESS;
  }

  function stat(node, out) {
    const v = view();
    bytes(out, 64).fill(0);
    v.setBigUint64(out, 1n, true);
    v.setBigUint64(out + 8, BigInt(node?.inode ?? 0), true);
    v.setUint8(out + 16, node === undefined ? CHARACTER_DEVICE : node.entries ? DIRECTORY : REGULAR_FILE);
    v.setBigUint64(out + 24, 1n, true);
    v.setBigUint64(out + 32, BigInt(node?.bytes?.length ?? 0), true);
    return SUCCESS;
  }

  const isStream = (fd) => fd >= 0 && fd <= 2;

  function readAt(file, position, start, count) {
    let total = 0;
    for (const [to, length] of vectors(start, count)) {
      const part = file.bytes.subarray(position + total, position + total + length);
      bytes(to, part.length).set(part);
      total += part.length;
      if (part.length < length) break;
    }
    return total;
  }

  function writeAt(file, position, start, count) {
    const parts = vectors(start, count).map(([from, length]) => bytes(from, length));
    const total = parts.reduce((sum, part) => sum + part.length, 0);
    if (position + total > file.bytes.length) {
      const longer = new Uint8Array(position + total);
      longer.set(file.bytes);
      file.bytes = longer;
    }
    for (const part of parts) {
      file.bytes.set(part, position);
      position += part.length;
    }
    return total;
  }

  const calls = {
    args_get: (pointers, buffer) => strings(args, pointers, buffer),
    args_sizes_get: (count, length) => sizes(args, count, length),
    environ_get: (pointers, buffer) => strings(environment, pointers, buffer),
    environ_sizes_get: (count, length) => sizes(environment, count, length),
    clock_res_get(_, out) {
      view().setBigUint64(out, 1000n, true);
      return SUCCESS;
    },
    clock_time_get(clock, _, out) {
      const now = clock === 0 ? Date.now() : performance.now();
      view().setBigUint64(out, BigInt(Math.round(now * 1e6)), true);
      return SUCCESS;
    },
    random_get(start, length) {
      for (let i = 0; i < length; i += 65536) {
        const part = new Uint8Array(Math.min(65536, length - i));
        crypto.getRandomValues(part);
        bytes(start + i, part.length).set(part);
      }
      return SUCCESS;
    },
    sched_yield: () => SUCCESS,
    proc_exit(code) {
      throw new Exit(code);
    },
    fd_prestat_get(fd, out) {
      if (fd !== 3) return EBADF;
      view().setUint32(out, 0, true);
      view().setUint32(out + 4, 1, true);
      return SUCCESS;
    },
    fd_prestat_dir_name(fd, out) {
      if (fd !== 3) return EBADF;
      bytes(out, 1).set(text.encode("/"));
      return SUCCESS;
    },
    fd_fdstat_get(fd, out) {
      const file = opened.get(fd);
      if (!file && !isStream(fd)) return EBADF;
      const v = view();
      bytes(out, 24).fill(0);
      v.setUint8(out, file === undefined ? CHARACTER_DEVICE : file.node.entries ? DIRECTORY : REGULAR_FILE);
      v.setUint16(out + 2, file?.flags ?? 0, true);
      v.setBigUint64(out + 8, ALL_RIGHTS, true);
      v.setBigUint64(out + 16, ALL_RIGHTS, true);
      return SUCCESS;
    },
    fd_filestat_get(fd, out) {
      if (isStream(fd)) return stat(undefined, out);
      const file = opened.get(fd);
      return file ? stat(file.node, out) : EBADF;
    },
    fd_filestat_set_size(fd, size) {
      const file = opened.get(fd);
      if (!file?.node.bytes) return EBADF;
      const resized = new Uint8Array(Number(size));
      resized.set(file.node.bytes.subarray(0, resized.length));
      file.node.bytes = resized;
      return SUCCESS;
    },
    path_filestat_get(fd, _, start, length, out) {
      const folder = opened.get(fd);
      if (!folder) return EBADF;
      const node = files.find(string(start, length), folder.node);
      return node ? stat(node, out) : ENOENT;
    },
    path_open(fd, _, start, length, oflags, rights, __, flags, out) {
      const folder = opened.get(fd);
      if (!folder) return EBADF;
      const path = string(start, length);
      let node = files.find(path, folder.node);
      if (node && oflags & O_CREAT && oflags & O_EXCL) return EEXIST;
      if (!node) {
        if (!(oflags & O_CREAT)) return ENOENT;
        const place = files.locate(path, folder.node);
        if (!place.folder?.entries) return ENOENT;
        node = files.make(place.folder, place.name, { bytes: new Uint8Array(0) });
      }
      if (oflags & O_DIRECTORY && !node.entries) return ENOTDIR;
      if (oflags & O_TRUNC) {
        if (node.entries) return EISDIR;
        node.bytes = new Uint8Array(0);
      }
      let free = FIRST_FREE;
      while (opened.has(free)) free++;
      opened.set(free, { node, position: 0, flags });
      view().setUint32(out, free, true);
      return SUCCESS;
    },
    fd_close: (fd) => (opened.delete(fd) || isStream(fd) ? SUCCESS : EBADF),
    fd_read(fd, start, count, out) {
      let total = 0;
      if (fd !== 0) {
        const file = opened.get(fd);
        if (!file) return EBADF;
        if (file.node.entries) return EISDIR;
        total = readAt(file.node, file.position, start, count);
        file.position += total;
      }
      view().setUint32(out, total, true);
      return SUCCESS;
    },
    fd_pread(fd, start, count, position, out) {
      const file = opened.get(fd);
      if (!file?.node.bytes) return EBADF;
      view().setUint32(out, readAt(file.node, Number(position), start, count), true);
      return SUCCESS;
    },
    fd_write(fd, start, count, out) {
      let total = 0;
      if (isStream(fd)) {
        for (const [from, length] of vectors(start, count)) {
          write(fd, decoders[fd].decode(bytes(from, length).slice(), { stream: true }));
          total += length;
        }
      } else {
        const file = opened.get(fd);
        if (!file?.node.bytes) return EBADF;
        if (file.flags & APPEND) file.position = file.node.bytes.length;
        total = writeAt(file.node, file.position, start, count);
        file.position += total;
      }
      view().setUint32(out, total, true);
      return SUCCESS;
    },
    fd_pwrite(fd, start, count, position, out) {
      const file = opened.get(fd);
      if (!file?.node.bytes) return EBADF;
      view().setUint32(out, writeAt(file.node, Number(position), start, count), true);
      return SUCCESS;
    },
    fd_seek(fd, offset, whence, out) {
      const file = opened.get(fd);
      if (!file?.node.bytes) return EBADF;
      const base = [0, file.position, file.node.bytes.length][whence];
      const position = base + Number(offset);
      if (!(position >= 0)) return EINVAL;
      file.position = position;
      view().setBigUint64(out, BigInt(position), true);
      return SUCCESS;
    },
    fd_tell(fd, out) {
      const file = opened.get(fd);
      if (!file) return EBADF;
      view().setBigUint64(out, BigInt(file.position), true);
      return SUCCESS;
    },
    fd_readdir(fd, buffer, length, cookie, out) {
      const folder = opened.get(fd);
      if (!folder) return EBADF;
      if (!folder.node.entries) return ENOTDIR;
      const entries = [...folder.node.entries];
      let used = 0;
      for (let i = Number(cookie); i < entries.length && used < length; i++) {
        const [name, node] = entries[i];
        const encoded = text.encode(name);
        const entry = new Uint8Array(24 + encoded.length);
        const v = new DataView(entry.buffer);
        v.setBigUint64(0, BigInt(i + 1), true);
        v.setBigUint64(8, BigInt(node.inode), true);
        v.setUint32(16, encoded.length, true);
        v.setUint8(20, node.entries ? DIRECTORY : REGULAR_FILE);
        entry.set(encoded, 24);
        const part = entry.subarray(0, length - used); // the caller asks again for an entry that is cut
        bytes(buffer + used, part.length).set(part);
        used += part.length;
      }
      view().setUint32(out, used, true);
      return SUCCESS;
    },
    path_create_directory(fd, start, length) {
      const { folder, name } = files.locate(string(start, length), opened.get(fd)?.node);
      if (!folder?.entries) return ENOENT;
      if (folder.entries.has(name)) return EEXIST;
      files.make(folder, name, { entries: new Map() });
      return SUCCESS;
    },
    path_unlink_file(fd, start, length) {
      const { folder, name } = files.locate(string(start, length), opened.get(fd)?.node);
      if (!folder?.entries?.has(name)) return ENOENT;
      if (folder.entries.get(name).entries) return EISDIR;
      folder.entries.delete(name);
      return SUCCESS;
    },
    path_remove_directory(fd, start, length) {
      const { folder, name } = files.locate(string(start, length), opened.get(fd)?.node);
      const node = folder?.entries?.get(name);
      if (!node) return ENOENT;
      if (!node.entries) return ENOTDIR;
      if (node.entries.size > 0) return ENOTEMPTY;
      folder.entries.delete(name);
      return SUCCESS;
    },
    path_rename(fd, start, length, toFd, toStart, toLength) {
      const from = files.locate(string(start, length), opened.get(fd)?.node);
      const to = files.locate(string(toStart, toLength), opened.get(toFd)?.node);
      const node = from.folder?.entries?.get(from.name);
      if (!node || !to.folder?.entries) return ENOENT;
      from.folder.entries.delete(from.name);
      to.folder.entries.set(to.name, node);
      return SUCCESS;
    },
    path_readlink: () => EINVAL, // no file is a link
  };
  for (const ignored of ["fd_advise", "fd_datasync", "fd_sync", "fd_fdstat_set_flags", "fd_filestat_set_times", "path_filestat_set_times"]) {
    calls[ignored] = () => SUCCESS;
  }
  return new Proxy(calls, { get: (target, name) => target[name] ?? (() => ENOSYS) });
}
