//! The stack machine.

use std::collections::HashMap;

use super::MAX_INSTRUCTIONS;
use super::globals::Known;
use super::operands::Operands;
use super::value::{Heap, Id, Node, StorageSpec, TensorSpec};
use crate::error::Fault;

/// Runs a pickle and returns what it built.
pub(in crate::torch) fn run(pickle: &[u8]) -> Result<(Heap, Id), Fault> {
    let mut machine = Machine {
        input: Operands::new(pickle),
        heap: Heap::default(),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: HashMap::new(),
    };
    for _ in 0..MAX_INSTRUCTIONS {
        if let Some(result) = machine.step()? {
            return Ok((machine.heap, result));
        }
    }
    Err(Fault::TooMuch {
        what: "pickle instructions",
        limit: MAX_INSTRUCTIONS,
    })
}

struct Machine<'a> {
    input: Operands<'a>,
    heap: Heap,
    stack: Vec<Id>,
    /// The heights of the stack at its marks.
    marks: Vec<usize>,
    memo: HashMap<u32, Id>,
}

impl Machine<'_> {
    /// Runs one instruction; the last one returns the result.
    fn step(&mut self) -> Result<Option<Id>, Fault> {
        let at = self.input.position();
        let code = self.input.u8()?;
        match code {
            // PROTO, FRAME, MARK, STOP
            0x80 => {
                self.input.u8()?;
            }
            0x95 => {
                self.input.take(8)?;
            }
            b'(' => self.marks.push(self.stack.len()),
            b'.' => return self.pop().map(Some),
            // POP, POP_MARK
            b'0' => {
                self.pop()?;
            }
            b'1' => {
                self.pop_mark()?;
            }
            b'N' => self.push(Node::None),
            0x88 => self.push(Node::Bool(true)),
            0x89 => self.push(Node::Bool(false)),
            b'K' | b'M' | b'J' | 0x8a | 0x8b | b'G' => self.number(code)?,
            b'X' | 0x8c | 0x8d | b'T' | b'U' | b'B' | b'C' | 0x8e | 0x96 => self.string(code)?,
            b']' | b'}' | b')' | 0x8f | b't' | 0x85..=0x87 | b'l' | b'd' | 0x91 => {
                self.collection(code)?;
            }
            b'a' | b'e' | b's' | b'u' | 0x90 => self.fill(code)?,
            b'q' | b'r' | 0x94 | b'h' | b'j' => self.memory(code)?,
            b'c' | 0x93 => self.global(code)?,
            // REDUCE and NEWOBJ differ in what Python calls; we call neither.
            b'R' | 0x81 => {
                let (arguments, callee) = (self.pop()?, self.pop()?);
                self.build(callee, arguments)?;
            }
            // NEWOBJ_EX
            0x92 => {
                let (_, arguments, callee) = (self.pop()?, self.pop()?, self.pop()?);
                self.build(callee, arguments)?;
            }
            // BUILD: attributes. Those of a dictionary are module versions,
            // those of anything else belong to something we do not build.
            b'b' => {
                self.pop()?;
                self.top()?;
            }
            b'Q' => self.storage()?,
            _ => return Err(Fault::Instruction { code, at }),
        }
        Ok(None)
    }

    /// Runs GLOBAL, whose names follow in the file, or STACK_GLOBAL, whose names are on the stack.
    fn global(&mut self, code: u8) -> Result<(), Fault> {
        let known = if code == b'c' {
            let module = self.input.line()?;
            let name = self.input.line()?;
            Known::named(&module, &name)?
        } else {
            let (name, module) = (self.pop()?, self.pop()?);
            let (Some(module), Some(name)) = (self.heap.text(module), self.heap.text(name)) else {
                return Err(self.input.broken("a global has no name"));
            };
            Known::named(module, name)?
        };
        self.push(Node::Global(known));
        Ok(())
    }

    fn number(&mut self, code: u8) -> Result<(), Fault> {
        let node = match code {
            b'K' => Node::Int(i64::from(self.input.u8()?)),
            b'M' => Node::Int(i64::from(self.input.u16()?)),
            b'J' => Node::Int(i64::from(i32::from_le_bytes(self.input.array()?))),
            b'G' => Node::Float(f64::from_be_bytes(self.input.array()?)),
            0x8a => long(self.input.counted(1)?),
            _ => long(self.input.counted(4)?),
        };
        self.push(node);
        Ok(())
    }

    fn string(&mut self, code: u8) -> Result<(), Fault> {
        let node = match code {
            b'X' => Node::Text(self.input.text(4)?),
            0x8c => Node::Text(self.input.text(1)?),
            0x8d => Node::Text(self.input.text(8)?),
            // Python 2's strings are bytes; they are names if they are text.
            b'T' | b'U' => {
                let bytes = self.input.counted(if code == b'U' { 1 } else { 4 })?;
                std::str::from_utf8(bytes).map_or(Node::Other, |text| Node::Text(text.to_owned()))
            }
            _ => {
                self.input.counted(match code {
                    b'C' => 1,
                    b'B' => 4,
                    _ => 8,
                })?;
                Node::Other
            }
        };
        self.push(node);
        Ok(())
    }

    fn collection(&mut self, code: u8) -> Result<(), Fault> {
        let node = match code {
            b']' | 0x8f => Node::List(Vec::new()),
            b'}' => Node::Dict(Vec::new()),
            b')' => Node::Tuple(Vec::new()),
            b't' => Node::Tuple(self.pop_mark()?),
            b'l' | 0x91 => Node::List(self.pop_mark()?),
            b'd' => Node::Dict(self.pop_pairs()?),
            _ => {
                let count = usize::from(code - 0x84);
                let from = self.floor(count)?;
                Node::Tuple(self.stack.split_off(from))
            }
        };
        self.push(node);
        Ok(())
    }

    /// Runs APPEND, APPENDS and ADDITEMS, SETITEM, SETITEMS.
    fn fill(&mut self, code: u8) -> Result<(), Fault> {
        let broken = self
            .input
            .broken("something is added to a value that is not a collection");
        if let b's' | b'u' = code {
            let pairs = match code {
                b's' => {
                    let (value, key) = (self.pop()?, self.pop()?);
                    vec![(key, value)]
                }
                _ => self.pop_pairs()?,
            };
            let target = self.top()?;
            match self.heap.get_mut(target) {
                Some(Node::Dict(entries)) => entries.extend(pairs),
                Some(Node::Opaque { .. }) => {}
                _ => return Err(broken),
            }
        } else {
            let values = match code {
                b'a' => vec![self.pop()?],
                _ => self.pop_mark()?,
            };
            let target = self.top()?;
            match self.heap.get_mut(target) {
                Some(Node::List(items)) => items.extend(values),
                Some(Node::Opaque { .. }) => {}
                _ => return Err(broken),
            }
        }
        Ok(())
    }

    /// Runs BINPUT, LONG_BINPUT, MEMOIZE; BINGET, LONG_BINGET. The memo has at most
    /// one entry per instruction.
    fn memory(&mut self, code: u8) -> Result<(), Fault> {
        let index = match code {
            b'q' | b'h' => u32::from(self.input.u8()?),
            b'r' | b'j' => self.input.u32()?,
            _ => u32::try_from(self.memo.len()).unwrap_or(u32::MAX),
        };
        if let b'h' | b'j' = code {
            let value = self.memo.get(&index).copied();
            let value = value
                .ok_or_else(|| self.input.broken("it recalls a value that it never stored"))?;
            self.stack.push(value);
        } else {
            let top = self.top()?;
            self.memo.insert(index, top);
        }
        Ok(())
    }

    /// Builds what Python would make by calling `callee` with `arguments`.
    fn build(&mut self, callee: Id, arguments: Id) -> Result<(), Fault> {
        let known = match self.heap.get(callee) {
            Node::Global(known) => known.clone(),
            Node::Opaque { global, .. } => Known::Unknown(global.clone()),
            _ => {
                return Err(self
                    .input
                    .broken("it calls something that is not a function"));
            }
        };
        let node = match known {
            Known::Dict => self.dictionary(arguments)?,
            Known::RebuildTensor => Node::Tensor(self.tensor(arguments, false)?),
            Known::RebuildTensorV3 => Node::Tensor(self.tensor(arguments, true)?),
            Known::RebuildParameter | Known::Size => {
                let inner = self.heap.items(arguments).and_then(|items| items.first());
                let inner = inner.copied();
                let inner = inner.ok_or(Fault::Description("a wrapper around nothing"))?;
                self.stack.push(inner);
                return Ok(());
            }
            Known::Unknown(global) => Node::Opaque {
                global,
                holds_tensor: self.heap.holds_tensor(arguments, 3),
            },
            Known::Storage(_) | Known::Dtype(_) => {
                return Err(Fault::Description(
                    "it calls a storage or an element type as a function",
                ));
            }
        };
        self.push(node);
        Ok(())
    }

    /// Reads `OrderedDict([(key, value), ...])`, or empty as torch writes it; the
    /// argument of `defaultdict` is a factory and not needed.
    fn dictionary(&self, arguments: Id) -> Result<Node, Fault> {
        let first = self.heap.items(arguments).and_then(|items| items.first());
        let pairs = first.and_then(|first| match self.heap.get(*first) {
            Node::List(pairs) => Some(pairs),
            _ => None,
        });
        let pair = |pair: &Id| match self.heap.items(*pair) {
            Some([key, value]) => Ok((*key, *value)),
            _ => Err(self
                .input
                .broken("a dictionary is made from something other than pairs")),
        };
        let entries: Result<_, _> = pairs.into_iter().flatten().map(pair).collect();
        Ok(Node::Dict(entries?))
    }

    fn tensor(&self, arguments: Id, v3: bool) -> Result<TensorSpec, Fault> {
        let Some([storage, offset, shape, strides, rest @ ..]) = self.heap.items(arguments) else {
            return Err(Fault::Description("too few values"));
        };
        let storage = match self.heap.get(*storage) {
            Node::Storage(storage) => storage.clone(),
            Node::Opaque { global, .. } => return Err(Fault::Wrapped(global.clone())),
            _ => return Err(Fault::Description("it has no storage")),
        };
        let dtype = if v3 {
            rest.get(2).and_then(|dtype| match self.heap.get(*dtype) {
                Node::Global(Known::Dtype(dtype)) => Some(*dtype),
                _ => None,
            })
        } else {
            storage.dtype
        };
        let dtype = dtype.ok_or(Fault::Description("its element type is not known"))?;
        let offset = self.heap.int(*offset);
        let (shape, strides) = (self.heap.ints(*shape), self.heap.ints(*strides));
        let (Some(offset), Some(shape), Some(strides)) = (offset, shape, strides) else {
            return Err(Fault::Description(
                "offset, shape or strides are not whole numbers",
            ));
        };
        Ok(TensorSpec {
            storage,
            dtype,
            offset,
            shape,
            strides,
        })
    }

    /// Runs BINPERSID: `("storage", class, key, device, elements)`.
    fn storage(&mut self) -> Result<(), Fault> {
        let id = self.pop()?;
        let spec = match self.heap.items(id) {
            Some([kind, class, key, _, elements]) if self.heap.text(*kind) == Some("storage") => {
                let dtype = match self.heap.get(*class) {
                    Node::Global(Known::Storage(dtype)) => Some(*dtype),
                    Node::Global(Known::Unknown(global)) => {
                        return Err(Fault::Wrapped(global.clone()));
                    }
                    _ => None,
                };
                let key = self.heap.text(*key).map(str::to_owned);
                dtype.zip(key).zip(self.heap.int(*elements))
            }
            _ => None,
        };
        let Some(((dtype, key), elements)) = spec else {
            return Err(Fault::Description(
                "its storage is not named the way torch names one",
            ));
        };
        self.push(Node::Storage(StorageSpec {
            dtype,
            key,
            elements,
        }));
        Ok(())
    }

    fn push(&mut self, node: Node) {
        let id = self.heap.add(node);
        self.stack.push(id);
    }

    /// Returns where the last `count` values begin, above the last mark.
    fn floor(&self, count: usize) -> Result<usize, Fault> {
        let mark = self.marks.last().copied().unwrap_or(0);
        self.stack
            .len()
            .checked_sub(count)
            .filter(|from| *from >= mark)
            .ok_or_else(|| self.input.broken("it takes more values than there are"))
    }

    fn pop(&mut self) -> Result<Id, Fault> {
        self.floor(1)?;
        self.stack
            .pop()
            .ok_or_else(|| self.input.broken("it takes more values than there are"))
    }

    fn top(&self) -> Result<Id, Fault> {
        self.floor(1)?;
        self.stack
            .last()
            .copied()
            .ok_or_else(|| self.input.broken("it takes more values than there are"))
    }

    /// Pops everything above the last mark, and the mark.
    fn pop_mark(&mut self) -> Result<Vec<Id>, Fault> {
        let mark = self.marks.pop();
        let mark = mark.filter(|mark| *mark <= self.stack.len());
        let mark = mark.ok_or_else(|| self.input.broken("a mark is missing"))?;
        Ok(self.stack.split_off(mark))
    }

    fn pop_pairs(&mut self) -> Result<Vec<(Id, Id)>, Fault> {
        let values = self.pop_mark()?;
        let (pairs, rest) = values.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(self.input.broken("a key has no value"));
        }
        Ok(pairs.iter().map(|[key, value]| (*key, *value)).collect())
    }
}

/// Reads a little-endian number in two's complement; none past 64 bits matters.
fn long(bytes: &[u8]) -> Node {
    if bytes.len() > 8 {
        return Node::Other;
    }
    let negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut wide = [if negative { 0xff } else { 0 }; 8];
    for (to, from) in wide.iter_mut().zip(bytes) {
        *to = *from;
    }
    Node::Int(i64::from_le_bytes(wide))
}
